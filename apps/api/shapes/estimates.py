"""How long something still takes, over the wire."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers

from apps.api.shapes.common import Shape


class EstimateShape(Shape):
    """How long it still takes, in all likelihood; `left_s` and `ends_at` are null where nobody knows."""

    left_s = serializers.SerializerMethodField()
    ends_at = serializers.DateTimeField(allow_null=True)
    why = serializers.CharField(help_text="Why it is not known; empty where it is, or where it has ended.")

    def get_left_s(self, row: Any) -> float | None:
        """Seconds from this answer; never negative."""
        left_s: float | None = row.left_s(timezone.now())
        return left_s
