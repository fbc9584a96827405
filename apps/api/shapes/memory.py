"""A server's memory over the wire."""

from rest_framework import serializers

from apps.api.shapes.common import Shape
from apps.deployments.memory import Action
from apps.serving.memory import MemoryKind


class DeviceMemoryShape(Shape):
    """One card, or the machine, which other processes use too."""

    kind = serializers.ChoiceField(choices=[str(one) for one in MemoryKind])
    device = serializers.CharField(help_text="A card's UUID; empty for the machine.")
    used_bytes = serializers.IntegerField()
    total_bytes = serializers.IntegerField()


class MemoryChangeShape(Shape):
    """One load, unload or other configuration; `mixed` where more than one version came, went or changed."""

    at = serializers.DateTimeField()
    action = serializers.ChoiceField(choices=[str(one) for one in Action], allow_blank=True)
    model = serializers.CharField()
    version = serializers.IntegerField()
    moved_bytes = serializers.IntegerField(allow_null=True, help_text="Null: unknown; `remark` says why.")
    remark = serializers.CharField()


class LeakShape(Shape):
    """Memory that did not come back after an unload: restart the server when convenient."""

    model = serializers.CharField()
    version = serializers.IntegerField()
    missing_bytes = serializers.IntegerField()
    since = serializers.DateTimeField()


class ServerMemoryShape(Shape):
    """As it was last read. No devices: the server did not tell, or nothing was loaded there yet."""

    devices = DeviceMemoryShape(many=True)
    at = serializers.DateTimeField(allow_null=True)
    changes = MemoryChangeShape(many=True)
    leaks = LeakShape(many=True)
