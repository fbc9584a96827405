"""Placements, rollouts, schedules and probes over the wire."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.api.shapes.common import Asked, LinkField, Shape
from apps.api.shapes.estimates import EstimateShape
from apps.api.shapes.runs import CountsField, FailedRunShape
from apps.deployments import selectors
from apps.deployments.states import ACTIVE_ROLLOUT, RolloutKind, RolloutState

KINDS = tuple(map(str, RolloutKind))
STATES = tuple(map(str, RolloutState))

# What the answer itself tells of failed servers: enough for a build's log, whatever the size of the fleet.
MOST_FAILED = 10
VERDICTS = ("pass", "fail", "inconclusive", "error", "does_not_apply")
CONFIRM = "What is accepted on purpose, such as `interface` after a 409 `interface_changed`."


class VersionNumber(serializers.IntegerField):
    """A version's number, or null when there is none."""

    def __init__(self, source: str) -> None:
        super().__init__(source=f"{source}.number", allow_null=True, default=None, read_only=True)


class ChangedShape(Shape):
    """The change that left a placement as it was at a moment, and how that differs from now."""

    what = serializers.ChoiceField(
        choices=("begun", "done", "put_back", "nothing"), help_text="`nothing`: it had never been live then."
    )
    coming = VersionNumber("coming")
    rollout = serializers.IntegerField(source="rollout_id", allow_null=True)
    actor = serializers.CharField()
    actor_kind = serializers.CharField()
    reason = serializers.CharField()
    active_now = VersionNumber("placement.active")
    standby_now = VersionNumber("placement.standby")
    overlay_now = VersionNumber("placement.overlay")
    differs = serializers.BooleanField(help_text="Whether anything of it stands elsewhere now.")
    differs_in = serializers.ListField(child=serializers.ChoiceField(choices=("active", "standby", "overlay")))


class PlacementShape(Shape):
    """Desired state of one model in one environment. `changed` is there only for a list at a moment (`at`)."""

    environment = serializers.CharField(source="environment.name")
    model = serializers.CharField(source="model.name")
    active = VersionNumber("active")
    standby = VersionNumber("standby")
    standby_until = serializers.DateTimeField(allow_null=True)
    since = serializers.DateTimeField()
    held_at = serializers.DateTimeField(allow_null=True, help_text="While set, nothing but a rollback moves it.")
    held_by = serializers.CharField()
    hold_reason = serializers.CharField()
    overlay = serializers.IntegerField(
        source="overlay.number", allow_null=True, default=None, help_text="The overlay in effect, if there is one."
    )
    url = LinkField("placement", environment="environment.name", name="model.name")
    changed = ChangedShape(allow_null=True, default=None)


class TargetShape(Shape):
    """A version that can be rolled back to; hot: still loaded, so at once."""

    version = serializers.IntegerField(source="version.number")
    is_hot = serializers.BooleanField()
    why = serializers.CharField()
    expected_s = serializers.FloatField(allow_null=True, help_text="What it took last time, when known.")


class WarmupShape(Shape):
    """How a seldom-used model is kept warm."""

    every_s = serializers.IntegerField()
    is_enabled = serializers.BooleanField()
    next_at = serializers.DateTimeField()
    created_by = serializers.CharField()


class WarmupSetting(Asked):
    """How often, and whether at all."""

    every_s = serializers.IntegerField(min_value=1, max_value=2_147_483_647)
    is_enabled = serializers.BooleanField(required=False, default=True)


class RolloutShape(Shape):
    """One change of a placement. `error` tells why it was rolled back or failed."""

    id = serializers.IntegerField(source="pk")
    kind = serializers.ChoiceField(choices=KINDS)
    state = serializers.ChoiceField(choices=STATES)
    has_ended = serializers.SerializerMethodField()
    environment = serializers.CharField(source="placement.environment.name")
    model = serializers.CharField(source="placement.model.name")
    from_version = VersionNumber("from_version")
    to_version = VersionNumber("to_version")
    from_overlay = VersionNumber("from_overlay")
    to_overlay = VersionNumber("to_overlay")
    plan = serializers.DictField()
    policy_number = serializers.IntegerField(allow_null=True)
    wave = serializers.IntegerField(help_text="Counted from 0; `plan.waves` says how many servers each has.")
    baking_since = serializers.DateTimeField(allow_null=True)
    paused_at = serializers.DateTimeField(allow_null=True)
    paused_by = serializers.CharField()
    pause_reason = serializers.CharField()
    approved_at = serializers.DateTimeField(allow_null=True)
    approved_by = serializers.CharField()
    reason = serializers.CharField()
    actor = serializers.CharField()
    actor_kind = serializers.CharField()
    error = serializers.DictField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    turned_at = serializers.DateTimeField(allow_null=True, help_text="When it was sent back while it moved.")
    turned_by = serializers.CharField()
    turned_because = serializers.CharField()
    restored_at = serializers.DateTimeField(
        allow_null=True, help_text="When the last reachable server answered with what it was to go back to."
    )
    time_to_restore_s = serializers.FloatField(allow_null=True)
    release = serializers.IntegerField(source="release_id", allow_null=True, help_text="The release it is part of.")
    url = LinkField("rollout", rollout_id="pk")

    def get_has_ended(self, row: Any) -> bool:
        """Whether it will not move any more."""
        return row.state not in ACTIVE_ROLLOUT


class JudgementShape(Shape):
    """One look at one gate: what was asked, what came, what was right. Only `pass` lets a rollout go on."""

    gate = serializers.CharField()
    wave = serializers.IntegerField()
    at = serializers.DateTimeField()
    verdict = serializers.ChoiceField(choices=VERDICTS)
    value = serializers.FloatField(allow_null=True)
    threshold = serializers.FloatField(allow_null=True)
    baseline = serializers.FloatField(allow_null=True, help_text="The replaced version's value, where held against it.")
    samples = serializers.FloatField(allow_null=True, help_text="Requests it rests on; null: no data.")
    synthetic = serializers.IntegerField(help_text="Of these, Conch's own from the model's samples.")
    message = serializers.CharField()
    queries = serializers.ListField(child=serializers.CharField())


class RolloutDetailShape(RolloutShape):
    """A rollout with how many servers are how far, which failed, and how its gates were judged last."""

    policy = serializers.DictField(help_text="As it was when the rollout began.")
    skipped_gates = serializers.DictField()
    gates = serializers.SerializerMethodField()
    estimate = serializers.SerializerMethodField()
    counts = serializers.SerializerMethodField()
    failed = serializers.SerializerMethodField()
    runs_url = LinkField("rollout-runs", rollout_id="pk")

    def to_representation(self, row: Any) -> dict[str, Any]:
        """Its runs are counted once, for all that is told of them."""
        self._counts = selectors.run_counts(row)
        return super().to_representation(row)

    @extend_schema_field(JudgementShape(many=True))
    def get_gates(self, row: Any) -> list[dict[str, Any]]:
        """The newest judgement of each gate."""
        newest = selectors.latest_judgements(row, selectors.rollout_policy(row))
        return list(JudgementShape(newest.values(), many=True).data)

    @extend_schema_field(EstimateShape)
    def get_estimate(self, row: Any) -> dict[str, Any]:
        """When it will have gone forward everywhere, bakes included."""
        told = selectors.estimate(row, self._counts, selectors.rollout_policy(row), now=timezone.now())
        return dict(EstimateShape(told).data)

    @extend_schema_field(CountsField)
    def get_counts(self, row: Any) -> dict[str, dict[str, int]]:
        """How many servers are in each state, by direction; what is not named is nowhere."""
        found: dict[str, dict[str, int]] = {}
        for one in self._counts:
            of_direction = found.setdefault(one.direction, {})
            of_direction[one.state] = of_direction.get(one.state, 0) + one.number
        return found

    @extend_schema_field(FailedRunShape(many=True))
    def get_failed(self, row: Any) -> list[dict[str, Any]]:
        """The first ten servers on which it failed, and why; the others are among its runs."""
        return list(FailedRunShape(selectors.failed_runs(row, most=MOST_FAILED), many=True).data)


class RunRetry(Asked):
    """Which server to try again, and why."""

    server = serializers.CharField(max_length=128)
    reason = serializers.CharField(max_length=2_000)


class GateSkip(Asked):
    """Which gate to pass unjudged, and why."""

    gate = serializers.CharField(max_length=40)
    reason = serializers.CharField(max_length=2_000)


class ChangeOfPlacement(Asked):
    """Which placement."""

    environment = serializers.CharField(max_length=128)
    model = serializers.CharField(max_length=128)


class PromotionRequest(ChangeOfPlacement):
    """Bring a version live."""

    version = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    reason = serializers.CharField(required=False, allow_blank=True, max_length=2_000)
    confirm = serializers.ListField(required=False, child=serializers.CharField(), max_length=16, help_text=CONFIRM)
    skip = serializers.ListField(
        required=False, child=serializers.CharField(), max_length=1_000, help_text="Servers left out on purpose."
    )


class RollbackRequest(ChangeOfPlacement):
    """Go back to an earlier version."""

    to = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=2**63 - 1, help_text="Default: what was live before."
    )
    reason = serializers.CharField(max_length=2_000)
    confirm = serializers.ListField(required=False, child=serializers.CharField(), max_length=16, help_text=CONFIRM)
    ban = serializers.BooleanField(
        required=False, default=True, help_text="Keep what is rolled back from being promoted there until it is lifted."
    )


class UnloadRequest(ChangeOfPlacement):
    """Take a model off an environment."""

    reason = serializers.CharField(max_length=2_000)
    confirm = serializers.ListField(required=False, child=serializers.CharField(), max_length=16, help_text=CONFIRM)


class PlacementFilter(Shape):
    """Which placements."""

    environment = serializers.CharField(required=False, default="", allow_blank=True)
    model = serializers.CharField(required=False, default="", allow_blank=True)


class RolloutFilter(PlacementFilter):
    """Which rollouts."""

    state = serializers.ChoiceField(choices=STATES, required=False, default="", allow_blank=True)
    kind = serializers.ChoiceField(choices=KINDS, required=False, default="", allow_blank=True)
    active = serializers.BooleanField(required=False, allow_null=True, default=None, help_text="Moving, or ended.")


class ProbeFilter(Shape):
    """Of which placement, and how many."""

    environment = serializers.CharField()
    model = serializers.CharField()
    limit = serializers.IntegerField(required=False, default=50, min_value=1, max_value=500)


class ProbeShape(Shape):
    """One real request that Conch itself made."""

    server = serializers.CharField(source="server.name")
    version = serializers.IntegerField()
    kind = serializers.CharField()
    at = serializers.DateTimeField()
    has_passed = serializers.BooleanField()
    latency_us = serializers.IntegerField(allow_null=True)
    message = serializers.CharField()
