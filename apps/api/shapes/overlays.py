"""What an environment sets otherwise in a model's configuration, over the wire."""

from typing import Any

from rest_framework import serializers

from apps.api.shapes.common import Asked, JsonField, Shape
from apps.api.shapes.deployments import CONFIRM

OVERLAY = 'A merge patch over the configuration, such as {"dynamic_batching": {"max_queue_delay_microseconds": 500}}.'


class OverlayShape(Shape):
    """What an environment set otherwise in a model's configuration."""

    number = serializers.IntegerField()
    document = serializers.DictField(help_text="A merge patch over the version's configuration.")
    reason = serializers.CharField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()


class EffectShape(Shape):
    """The configuration that comes of it. Lines of a difference begin with '+', '-' or ' '."""

    text = serializers.CharField(help_text="The effective config.pbtxt.")
    overlaid = serializers.ListField(
        child=serializers.CharField(), help_text="Difference from the version as uploaded."
    )
    changes = serializers.ListField(child=serializers.CharField(), help_text="Difference from what runs now.")
    restarts = serializers.BooleanField(help_text="False: only instances differ, nothing loaded starts again.")


class OverlayTrial(Asked):
    """An overlay to look at."""

    document = JsonField(help_text=OVERLAY)


class OverlayRequest(Asked):
    """Another configuration in one environment: a `document`, or the number of an overlay to `restore`."""

    document = JsonField(required=False, help_text=OVERLAY)
    restore = serializers.IntegerField(
        required=False, min_value=0, help_text="An earlier overlay; 0: the version as it was uploaded."
    )
    reason = serializers.CharField(max_length=2_000)
    skip = serializers.ListField(
        required=False, child=serializers.CharField(), max_length=1_000, help_text="Servers left out on purpose."
    )
    confirm = serializers.ListField(required=False, child=serializers.CharField(), max_length=16, help_text=CONFIRM)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """One of the two, and not both."""
        if ("document" in attrs) == ("restore" in attrs):
            raise serializers.ValidationError("Give either document or restore.")
        return attrs
