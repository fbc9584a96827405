"""What was live when, over the wire."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from apps.api.shapes.common import LinkField
from apps.api.shapes.deployments import ChangedShape, PlacementFilter, PlacementShape
from apps.deployments import selectors

CLOCKS_APART = timedelta(minutes=1)


class MomentFilter(PlacementFilter):
    """Which placements, and when."""

    at = serializers.DateTimeField(
        required=False,
        allow_null=True,
        default=None,
        help_text="As they were then, with who and why in `changed`; not later than now.",
    )

    def validate_at(self, at: datetime | None) -> datetime | None:
        """What is to come is not known: refused, but for a client whose clock is a little ahead."""
        now = timezone.now()
        if at is not None and at > now + CLOCKS_APART:
            raise serializers.ValidationError(f"{at.isoformat()} is still to come: here it is {now.isoformat()}")
        return at


class PlacementThenShape(PlacementShape):
    """A placement as it was at a moment: a row of its history. Holds are not part of that.

    One that was made since has no version, and `changed.what` is `nothing`.
    """

    environment = serializers.CharField(source="placement.environment.name")
    model = serializers.CharField(source="placement.model.name")
    standby_until = serializers.DateTimeField(allow_null=True, default=None)
    since = serializers.DateTimeField(source="at", allow_null=True)
    held_at = serializers.DateTimeField(allow_null=True, default=None)
    held_by = serializers.CharField(default="")
    hold_reason = serializers.CharField(default="")
    url = LinkField("placement", environment="placement.environment.name", name="placement.model.name")
    changed = ChangedShape(source="*")

    def to_representation(self, row: Any) -> dict[str, Any]:
        """The change that a placement of `placements_at` was left by."""
        return super().to_representation(selectors.change_of(row))
