"""Desired state, the changes on their way to it, and what the clock does in between."""

from collections.abc import Mapping
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.deployments.states import (
    ACTIVE_ROLLOUT,
    ACTIVE_RUN,
    IN_WAVES,
    ROLLOUT_MOVES,
    RUN_MOVES,
    STEP_MOVES,
    RolloutKind,
    RolloutState,
    RunDirection,
    RunState,
    StepState,
)
from apps.fleet.models import Environment, Server
from apps.registry.models import Model, Version


class Placement(models.Model):
    """Desired state of one model in one environment: the `active` version and the `standby` kept hot.

    While `held_at` is set nothing changes here by itself, and a promotion asks first: a rollback holds it.
    """

    environment = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="placements")
    model = models.ForeignKey(Model, on_delete=models.PROTECT, related_name="placements")
    active = models.ForeignKey(Version, on_delete=models.PROTECT, null=True, related_name="+")
    standby = models.ForeignKey(Version, on_delete=models.PROTECT, null=True, related_name="+")
    standby_until = models.DateTimeField(null=True, db_index=True)
    since = models.DateTimeField(default=timezone.now)
    held_at = models.DateTimeField(null=True)
    held_by = models.CharField(max_length=200, blank=True)
    hold_reason = models.TextField(blank=True)
    overlay = models.ForeignKey("Overlay", on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["environment", "model"], name="one_placement_per_environment")]

    def __str__(self) -> str:
        return f"{self.model} in {self.environment}"


class Overlay(models.Model):
    """What one environment sets otherwise in a model's configuration; rows are only ever added.

    `number` counts within the placement. `document` is a merge patch; an empty one is the version as it was uploaded.
    """

    placement = models.ForeignKey(Placement, on_delete=models.CASCADE, related_name="overlays")
    number = models.PositiveIntegerField()
    document = models.JSONField(default=dict)
    reason = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["placement", "number"], name="one_overlay_per_number")]

    def __str__(self) -> str:
        return f"overlay {self.number} of {self.placement}"


class Rollout(models.Model):
    """One change of a placement, from -> to, over its environment's servers.

    `plan` is what was decided when it was asked for: {"hot": servers, "confirmed": [...], "servers": [...]},
    "at_once" where it goes back and so takes no waves, "each_s" where it is known what a server will take.
    `policy` is the environment's policy as it was then; empty in rollouts of a release that had none.
    `wave` counts from 0; `baking_since` is when its last server was done; `judge_at` when gates are due.
    `skipped_gates` maps a gate to who skipped it and why.
    `due_at` is when the engine should look at it again, `is_woken` that a message asks for it already. `turned_*` say
    when, by whom and why it was sent back while it moved; a rollback to elsewhere takes over (`superseded_by`).
    `restored_at` is when the last reachable server answered with what it was to go back to. `through_at` is when all
    of it had passed, and it waited for the rest of its release.
    """

    MOVES: ClassVar[Mapping[str, frozenset[str]]] = ROLLOUT_MOVES

    placement = models.ForeignKey(Placement, on_delete=models.PROTECT, related_name="rollouts")
    kind = models.CharField(max_length=16)
    state = models.CharField(max_length=16, default=RolloutState.QUEUED)
    from_version = models.ForeignKey(Version, on_delete=models.PROTECT, null=True, related_name="+")
    to_version = models.ForeignKey(Version, on_delete=models.PROTECT, null=True, related_name="+")
    from_overlay = models.ForeignKey(Overlay, on_delete=models.PROTECT, null=True, related_name="+")
    to_overlay = models.ForeignKey(Overlay, on_delete=models.PROTECT, null=True, related_name="+")
    plan = models.JSONField(default=dict)
    policy = models.JSONField(default=dict)
    policy_number = models.PositiveIntegerField(null=True)
    wave = models.PositiveIntegerField(default=0)
    baking_since = models.DateTimeField(null=True)
    judge_at = models.DateTimeField(null=True)
    skipped_gates = models.JSONField(default=dict)
    paused_at = models.DateTimeField(null=True)
    paused_by = models.CharField(max_length=200, blank=True)
    pause_reason = models.TextField(blank=True)
    approved_at = models.DateTimeField(null=True)
    approved_by = models.CharField(max_length=200, blank=True)
    reason = models.TextField(blank=True)
    actor = models.CharField(max_length=200)
    actor_kind = models.CharField(max_length=16)
    error = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now, db_index=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    due_at = models.DateTimeField(default=timezone.now)
    is_woken = models.BooleanField(default=False)
    turned_at = models.DateTimeField(null=True)
    turned_by = models.CharField(max_length=200, blank=True)
    turned_by_kind = models.CharField(max_length=16, blank=True)
    turned_because = models.TextField(blank=True)
    restored_at = models.DateTimeField(null=True)
    superseded_by = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="superseded")
    release = models.ForeignKey("deployments.Release", on_delete=models.PROTECT, null=True, related_name="rollouts")
    through_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["placement"], condition=Q(state__in=ACTIVE_ROLLOUT), name="one_active_rollout_per_placement"
            )
        ]
        indexes = [
            models.Index(fields=["state", "due_at"], name="rollout_due"),
            models.Index(fields=["judge_at"], name="rollout_judged", condition=Q(judge_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"rollout {self.pk}"

    @property
    def goes_in_waves(self) -> bool:
        """Whether it waits for approval, bakes and gates, and can pause; all else goes to every server at once."""
        return self.kind in IN_WAVES and not self.plan.get("at_once")

    @property
    def is_going_back(self) -> bool:
        """A rollback, or an overlay that is put back: it waits for nothing that goes forward."""
        return self.kind == RolloutKind.ROLLBACK or bool(self.plan.get("at_once"))

    @property
    def time_to_restore_s(self) -> float | None:
        """From the ask to go back to the last reachable server that answered right; None while it is not so."""
        if self.restored_at is None:
            return None
        return round((self.restored_at - (self.turned_at or self.created_at)).total_seconds(), 3)


class Run(models.Model):
    """One server's share of a rollout: a recipe of steps, walked under a lease.

    `recipe` is kept with the run, so that a newer release ends what an older one began. `due_at` is when it should be
    walked, `woken_at` when the last message that asks for it was to come.
    """

    MOVES: ClassVar[Mapping[str, frozenset[str]]] = RUN_MOVES

    rollout = models.ForeignKey(Rollout, on_delete=models.CASCADE, related_name="runs")
    server = models.ForeignKey(Server, on_delete=models.PROTECT, related_name="runs")
    model = models.ForeignKey(Model, on_delete=models.PROTECT, related_name="+")
    direction = models.CharField(max_length=16, default=RunDirection.FORWARD)
    position = models.PositiveIntegerField(default=0)
    wave = models.PositiveIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=1)
    state = models.CharField(max_length=16, default=RunState.QUEUED)
    recipe = models.JSONField(default=list)
    has_changed_server = models.BooleanField(default=False)
    error = models.JSONField(default=dict)
    waiting_for = models.TextField(blank=True)
    lease_owner = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(null=True)
    due_at = models.DateTimeField(default=timezone.now)
    woken_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["server", "model"], condition=Q(state__in=ACTIVE_RUN), name="one_active_run_per_server_model"
            )
        ]
        indexes = [
            models.Index(fields=["state", "due_at"], name="run_due"),
            # A handful among all runs there ever were: the sweep looks for them every second.
            models.Index(
                fields=["rollout"],
                condition=Q(direction=RunDirection.REVERT) & ~Q(state=RunState.SUCCEEDED),
                name="run_not_put_back",
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.pk}"


class StepRun(models.Model):
    """One step of a run: its times, what it found and, when it failed, why.

    `memory` is what a step remembers between being called again; `detail` is what people read. `called_at` is when it
    was last called: deadlines count from `started_at`, which moves along with time in which nobody looked.
    """

    MOVES: ClassVar[Mapping[str, frozenset[str]]] = STEP_MOVES

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="steps")
    name = models.CharField(max_length=32)
    position = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=16, default=StepState.RUNNING)
    calls = models.PositiveIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0)
    lost_workers = models.PositiveIntegerField(default=0)
    memory = models.JSONField(default=dict)
    detail = models.JSONField(default=dict)
    error = models.JSONField(default=dict)
    started_at = models.DateTimeField()
    called_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "name"], name="one_row_per_step")]

    def __str__(self) -> str:
        return f"{self.run} {self.name}"


class Judgement(models.Model):
    """One look at one gate of a rollout: what was asked, what came, what was right. Never changed.

    `samples` are the requests it rests on; `synthetic` of them are Conch's own.
    """

    rollout = models.ForeignKey(Rollout, on_delete=models.CASCADE, related_name="judgements")
    gate = models.CharField(max_length=40)
    wave = models.PositiveIntegerField()
    at = models.DateTimeField()
    verdict = models.CharField(max_length=16)
    value = models.FloatField(null=True)
    threshold = models.FloatField(null=True)
    baseline = models.FloatField(null=True)
    samples = models.FloatField(null=True)
    synthetic = models.PositiveIntegerField(default=0)
    message = models.TextField(blank=True)
    queries = models.JSONField(default=list)

    class Meta:
        indexes = [
            models.Index(fields=["rollout", "-at"], name="judgement_newest"),
            models.Index(fields=["rollout", "gate", "-wave", "-at"], name="judgement_of_gate"),
            # A handful, among as many as a bake of days has looks.
            models.Index(fields=["rollout", "wave"], condition=Q(verdict="fail"), name="judgement_failed"),
        ]

    def __str__(self) -> str:
        return f"{self.gate} of {self.rollout}: {self.verdict}"


class WarmupSchedule(models.Model):
    """Keeps a seldom-used model warm: every `every_s`, on every server of the placement."""

    placement = models.OneToOneField(Placement, on_delete=models.CASCADE, related_name="warmup_schedule")
    every_s = models.PositiveIntegerField()
    is_enabled = models.BooleanField(default=True)
    next_at = models.DateTimeField(default=timezone.now, db_index=True)
    created_by = models.CharField(max_length=200, blank=True)

    def __str__(self) -> str:
        return f"{self.placement} every {self.every_s} s"


class Probe(models.Model):
    """One real request Conch made to a live version, and how it went."""

    placement = models.ForeignKey(Placement, on_delete=models.CASCADE, related_name="probes")
    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="probes")
    version = models.BigIntegerField()
    kind = models.CharField(max_length=16)
    at = models.DateTimeField(default=timezone.now)
    has_passed = models.BooleanField()
    latency_us = models.PositiveBigIntegerField(null=True)
    message = models.TextField(blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["placement", "-at"], name="probe_recent"),
            models.Index(fields=["at"], name="probe_failed", condition=Q(has_passed=False)),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.placement} on {self.server}"
