"""Releases over the wire."""

from typing import Any

from rest_framework import serializers

from apps.api.shapes.common import Asked, LinkField, Shape
from apps.api.shapes.deployments import CONFIRM, RolloutShape
from apps.deployments.selectors import release_state

STATES = ("moving", "reverting", "succeeded", "rolled_back", "failed")
ENDED = frozenset({"succeeded", "rolled_back", "failed"})


class ReleaseItem(Asked):
    """One model of a release, and the version it is to go to."""

    model = serializers.CharField(max_length=128)
    version = serializers.IntegerField(min_value=1, max_value=2**63 - 1)


class ReleaseRequest(Asked):
    """Bring several models live together, or none of them."""

    environment = serializers.CharField(max_length=128)
    items = serializers.ListField(child=ReleaseItem(), min_length=1, max_length=50)
    reason = serializers.CharField(required=False, allow_blank=True, max_length=2_000)
    confirm = serializers.ListField(required=False, child=serializers.CharField(), max_length=16, help_text=CONFIRM)
    skip = serializers.ListField(
        required=False, child=serializers.CharField(), max_length=1_000, help_text="Servers left out on purpose."
    )


class ReleaseBackRequest(Asked):
    """Send all of a release back together."""

    reason = serializers.CharField(max_length=2_000)
    ban = serializers.BooleanField(required=False, default=True, help_text="Ban the versions that are sent back.")


class ReleaseShape(Shape):
    """Several rollouts that are switched together. `error` tells which one took all of them back, and why."""

    id = serializers.IntegerField(source="pk")
    environment = serializers.CharField(source="environment.name")
    state = serializers.SerializerMethodField()
    has_ended = serializers.SerializerMethodField()
    decision = serializers.CharField(help_text="Empty while they move, then go or back: taken once, for all.")
    decided_at = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField()
    actor = serializers.CharField()
    actor_kind = serializers.CharField()
    created_at = serializers.DateTimeField()
    error = serializers.DictField()
    turned_at = serializers.DateTimeField(allow_null=True)
    turned_by = serializers.CharField()
    turned_because = serializers.CharField()
    rollouts = RolloutShape(many=True)
    url = LinkField("release", release_id="pk")

    def get_state(self, row: Any) -> str:
        """moving, reverting, succeeded, rolled_back or failed."""
        return release_state(row)

    def get_has_ended(self, row: Any) -> bool:
        """Whether none of its rollouts will move any more."""
        return release_state(row) in ENDED


class ReleaseFilter(Shape):
    """Which releases."""

    environment = serializers.CharField(required=False, default="", allow_blank=True)
