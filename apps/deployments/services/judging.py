"""Gates: what is to be judged now, and keeping what was found. The asking in between is outside any transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, Min, Q

from apps.common.dispatch import wake
from apps.common.due import FURTHEST, is_due
from apps.common.text import SHOWN_CHARS, printable
from apps.deployments.models import Judgement, Probe, Rollout
from apps.deployments.policy import Policy
from apps.deployments.selectors.judgements import gate_failure, looks
from apps.deployments.selectors.policies import rollout_policy
from apps.deployments.services.turning import turn_back_by_gate
from apps.deployments.states import GOING_ROLLOUT, RunDirection, RunState
from apps.metrics.gates import Gate
from apps.metrics.measuring import Probes, Subject
from apps.metrics.verdicts import Judged, Look, Standing, Verdict, standing

# Longer than asking takes; after a lost worker it is over, and the sweep asks again.
LOOK_LEASE_S = 60
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
SYNTHETIC, GATE_PROBE = "synthetic", "gate"


@dataclass(frozen=True, slots=True)
class ToJudge:
    """One claimed look at a rollout: which gates, of what. `claim` tells whether it is still ours in the end."""

    rollout: Rollout
    policy: Policy
    claim: datetime
    gates: tuple[Gate, ...]
    subject: Subject
    servers: tuple[Any, ...]
    config: Mapping[str, Any]
    signature: Mapping[str, Any]

    def objective(self, gate: Gate) -> float | None:
        """What the model promises for this gate's signal."""
        promised: float | None = getattr(self.rollout.placement.model, gate.objective) if gate.objective else None
        return promised


def claim_look(rollout_id: int, *, now: datetime) -> ToJudge | None:
    """Take a rollout's look by compare-and-set; None when none is due, or somebody has it."""
    found = (
        Rollout.objects.select_related(
            "placement__environment", "placement__model", "from_version", "to_version__artifact"
        )
        .filter(is_due("judge_at", now), pk=rollout_id, state__in=GOING_ROLLOUT)
        .first()
    )
    if found is None:
        return None
    claim = now + timedelta(seconds=LOOK_LEASE_S)
    if not Rollout.objects.filter(pk=found.pk, judge_at=found.judge_at).update(judge_at=claim):
        return None
    done = found.runs.filter(direction=RunDirection.FORWARD, state=RunState.SUCCEEDED)
    since = done.aggregate(first=Min("finished_at"))["first"]
    policy = rollout_policy(found)
    if since is None or found.to_version is None:
        return None
    servers = tuple(run.server for run in done.select_related("server__environment").order_by("position"))
    subject = Subject(
        environment=found.placement.environment.name,
        model=found.placement.model.name,
        version=found.to_version.number,
        replaced=_replaced(found),
        servers=frozenset(server.name for server in servers),
        since=since,
        began_at=found.started_at or found.created_at,
    )
    gates = tuple(gate for gate, due_at in _due(found, policy).items() if due_at <= now)
    return ToJudge(found, policy, claim, gates, subject, servers, found.to_version.config, found.to_version.signature)


def _replaced(rollout: Rollout) -> int | None:
    """The number of another version that this one replaces; a reconfiguration replaces none."""
    old = rollout.from_version
    return old.number if old is not None and old.pk != rollout.to_version_id else None


def probes_of(todo: ToJudge, gate: Gate, *, now: datetime) -> Probes:
    """Conch's own requests to the new version that count for one gate."""
    since = max(now - timedelta(seconds=gate.window_s), todo.subject.since)
    made = Probe.objects.filter(placement=todo.rollout.placement_id, version=todo.subject.version, at__gte=since)
    counted = made.aggregate(
        made=Count("pk"),
        failed=Count("pk", filter=Q(has_passed=False)),
        synthetic=Count("pk", filter=Q(kind=SYNTHETIC)),
    )
    last = made.filter(has_passed=False).order_by("-at").first() if counted["failed"] else None
    return Probes(**counted, message=last.message if last else "")


def synthetic_made(todo: ToJudge, *, window_s: int, now: datetime) -> Mapping[str, int]:
    """Conch's synthetic requests to the new version within the window, by server."""
    since = now - timedelta(seconds=window_s)
    made = Probe.objects.filter(
        placement=todo.rollout.placement_id, version=todo.subject.version, kind=SYNTHETIC, at__gte=since
    )
    return dict(made.order_by().values_list("server__name").annotate(made=Count("pk")))


def keep_judgements(todo: ToJudge, judged: Sequence[Judged], *, now: datetime) -> None:
    """Keep every judgement, and turn back at once where a gate has failed; nothing when the claim was lost."""
    with transaction.atomic():
        rollout = (
            Rollout.objects.select_for_update(of=("self",))
            .select_related("placement__environment", "placement__model", "from_version", "to_version__model")
            .get(pk=todo.rollout.pk)
        )
        if rollout.judge_at != todo.claim:
            return
        wave = todo.rollout.wave
        Judgement.objects.bulk_create(_row(rollout, wave, one, now) for one in judged)
        if rollout.state not in GOING_ROLLOUT:
            Rollout.objects.filter(pk=rollout.pk).update(judge_at=None)
            return
        due = _due(rollout, todo.policy)
        judge_at = min(max(min(due.values(), default=now), now), now + FURTHEST) if due else None
        Rollout.objects.filter(pk=rollout.pk).update(judge_at=judge_at)
        rollout.judge_at = judge_at
        if wave == rollout.wave and _has_failed(rollout, todo.policy):
            turn_back_by_gate(rollout.pk, failed=gate_failure(rollout))
            return
        if judge_at is not None:
            wake("conch.judge_rollout", after_s=max(0.0, (judge_at - now).total_seconds()), rollout_id=rollout.pk)
        wake("conch.advance_rollout", rollout_id=rollout.pk)


def _due(rollout: Rollout, policy: Policy) -> Mapping[Gate, datetime]:
    """When each gate that is still judged is due: every so often, and once more when the bake is over."""
    seen, over = looks(rollout, policy.gates), _bake_over(rollout, policy)
    return {
        gate: _next(gate, seen.get(gate.name, ()), over)
        for gate in policy.gates
        if gate.name not in rollout.skipped_gates
        and not any(look.verdict == Verdict.DOES_NOT_APPLY for look in seen.get(gate.name, ())[-1:])
    }


def _next(gate: Gate, seen: Sequence[Look], over: datetime | None) -> datetime:
    if not seen:
        return LONG_AGO
    last = seen[-1].at
    after = last + timedelta(seconds=gate.every_s)
    return min(after, over) if over is not None and last < over else after


def _bake_over(rollout: Rollout, policy: Policy) -> datetime | None:
    if rollout.baking_since is None:
        return None
    last_wave = rollout.runs.filter(direction=RunDirection.FORWARD).aggregate(last=Max("wave"))["last"] or 0
    return rollout.baking_since + timedelta(seconds=policy.bake_after(rollout.wave, waves=last_wave + 1))


def _has_failed(rollout: Rollout, policy: Policy) -> bool:
    seen = looks(rollout, policy.gates)
    return any(
        standing(gate, seen.get(gate.name, ()), since=rollout.created_at) == Standing.FAILED
        for gate in policy.gates
        if gate.name not in rollout.skipped_gates
    )


def _row(rollout: Rollout, wave: int, judged: Judged, now: datetime) -> Judgement:
    found = judged.measured
    return Judgement(
        rollout=rollout,
        gate=judged.gate,
        wave=wave,
        at=now,
        verdict=judged.verdict,
        value=found.value,
        threshold=judged.threshold,
        baseline=found.baseline,
        samples=found.samples,
        synthetic=found.synthetic,
        message=printable(judged.message, limit=SHOWN_CHARS),
        queries=list(found.queries),
    )
