"""Versions that must not go live in one place, over the wire."""

from rest_framework import serializers

from apps.api.shapes.common import LinkField, Shape
from apps.api.shapes.deployments import PlacementFilter, VersionNumber


class BanShape(Shape):
    """Bytes and a configuration that must not go live in one place until the ban is lifted."""

    id = serializers.IntegerField(source="pk")
    environment = serializers.CharField(source="placement.environment.name")
    model = serializers.CharField(source="placement.model.name")
    version = VersionNumber("version")
    artifact_digest = serializers.CharField()
    config_digest = serializers.CharField()
    rollout = serializers.IntegerField(source="rollout_id", allow_null=True)
    reason = serializers.CharField()
    actor = serializers.CharField()
    actor_kind = serializers.CharField()
    at = serializers.DateTimeField()
    lifted_at = serializers.DateTimeField(allow_null=True)
    lifted_by = serializers.CharField()
    lift_reason = serializers.CharField()
    url = LinkField("ban", ban_id="pk")


class BanFilter(PlacementFilter):
    """Which bans."""

    active = serializers.BooleanField(required=False, allow_null=True, default=None, help_text="In force, or lifted.")
