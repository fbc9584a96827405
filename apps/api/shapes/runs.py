"""What a rollout does on each server, over the wire."""

from rest_framework import serializers

from apps.api.shapes.common import Shape
from apps.deployments.states import RunDirection, RunState

RUN_STATES = tuple(map(str, RunState))
DIRECTIONS = tuple(map(str, RunDirection))


class CountsField(serializers.DictField):
    """How many runs are in each state, by direction: `counts.forward.succeeded`."""

    child = serializers.DictField(child=serializers.IntegerField())


class StepShape(Shape):
    """One step of a run."""

    name = serializers.CharField()
    state = serializers.CharField()
    calls = serializers.IntegerField()
    failures = serializers.IntegerField()
    detail = serializers.DictField()
    error = serializers.DictField()
    started_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class RunShape(Shape):
    """One server's share of a rollout."""

    server = serializers.CharField(source="server.name")
    direction = serializers.CharField()
    position = serializers.IntegerField()
    wave = serializers.IntegerField(help_text="Counted from 0.")
    attempts = serializers.IntegerField()
    state = serializers.CharField()
    recipe = serializers.ListField(child=serializers.CharField())
    has_changed_server = serializers.BooleanField()
    waiting_for = serializers.CharField()
    error = serializers.DictField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    steps = StepShape(many=True)


class FailedRunShape(Shape):
    """A server on which a rollout failed, and why."""

    server = serializers.CharField(source="server.name")
    direction = serializers.ChoiceField(choices=DIRECTIONS)
    wave = serializers.IntegerField(help_text="Counted from 0.")
    has_changed_server = serializers.BooleanField()
    error = serializers.DictField()
    finished_at = serializers.DateTimeField(allow_null=True)


class RunFilter(Shape):
    """Which runs."""

    state = serializers.ChoiceField(choices=RUN_STATES, required=False, default="", allow_blank=True)
    direction = serializers.ChoiceField(choices=DIRECTIONS, required=False, default="", allow_blank=True)
    server = serializers.CharField(required=False, default="", allow_blank=True)
