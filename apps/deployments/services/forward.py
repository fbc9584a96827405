"""How a rollout goes on: wave by wave, each with its bake and its gates. Costs the same for any number of servers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Q

from apps.audit.services import record
from apps.common.actor import CLOCK
from apps.common.dispatch import wake
from apps.common.keeping import error_document
from apps.common.transitions import move_all
from apps.deployments.errors import GateInconclusive, NoServers
from apps.deployments.models import Rollout, Run
from apps.deployments.policy import OnFailure, Policy, Unclear
from apps.deployments.selectors.judgements import gate_failure, looks, standings
from apps.deployments.selectors.policies import rollout_policy
from apps.deployments.services.ending import finish_forward
from apps.deployments.services.extra_runs import settle
from apps.deployments.services.leaving_out import leave_out
from apps.deployments.services.pausing import pause_by_itself
from apps.deployments.services.putting_back import clear_after, turn_by_itself, turn_from_run
from apps.deployments.services.restoring import answered_at, note_restored
from apps.deployments.services.superseding import start_late
from apps.deployments.services.together import is_part, may_finish
from apps.deployments.services.turning import turn_back_by_gate
from apps.deployments.states import RunDirection, RunState
from apps.metrics.verdicts import Standing
from apps.serving.errors import ServerUnreachable

_ENDED_BADLY = (RunState.FAILED, RunState.CANCELLED)


@dataclass(frozen=True, slots=True)
class _Tally:
    """How many forward runs of each wave are in each state; `planned` waves may have lost all theirs."""

    counts: Mapping[tuple[int, str], int]
    planned: int

    @classmethod
    def of(cls, rollout: Rollout) -> "_Tally":
        found = rollout.runs.filter(direction=RunDirection.FORWARD).order_by().values_list("wave", "state")
        counts = {(wave, state): number for wave, state, number in found.annotate(number=Count("pk"))}
        return cls(counts, planned=len(rollout.plan.get("waves", ())))

    def number(self, *states: str, wave: int | None = None) -> int:
        """Runs in one of `states`, of one wave or of all."""
        return sum(n for (at, state), n in self.counts.items() if state in states and wave in (None, at))

    @property
    def waves(self) -> int:
        return max(self.planned, max((wave for wave, _ in self.counts), default=-1) + 1)

    @property
    def runs(self) -> int:
        return sum(self.counts.values())


def go_forward(rollout: Rollout, now: datetime) -> datetime | None:
    """Start what is next, or end; when to look again, if that is known."""
    if not start_late(rollout, now=now):
        return None
    tally = _Tally.of(rollout)
    if not rollout.goes_in_waves:
        _go_at_once(rollout, tally, now)
        return None
    policy = rollout_policy(rollout)
    if tally.number(*_ENDED_BADLY) or not tally.runs:
        _on_failure(rollout, policy, now)
        return None
    if rollout.wave >= tally.waves:
        if may_finish(rollout, now=now) and settle(rollout, now):
            finish_forward(rollout, now)
        return None
    _see_to_judging(rollout, policy, tally, now)
    queued = tally.number(RunState.QUEUED, wave=rollout.wave)
    active = tally.number(RunState.RUNNING, wave=rollout.wave)
    if queued:
        # The runs of a release meet at its barrier: each must be on its way.
        _start(rollout, now, most=tally.runs if is_part(rollout) else policy.parallel - active)
    if queued or active:
        return None
    return _end_wave(rollout, policy, tally, now)


def _go_at_once(rollout: Rollout, tally: _Tally, now: datetime) -> None:
    """All servers at once: a rollback, an unload, a retirement."""
    if tally.number(RunState.QUEUED):
        _start(rollout, now, most=tally.runs)
    if tally.number(RunState.QUEUED, RunState.RUNNING):
        return
    if rollout.is_going_back and not _has_gone_back(rollout, now):
        return
    if tally.number(*_ENDED_BADLY) == tally.runs or settle(rollout, now):
        finish_forward(rollout, now)


def _has_gone_back(rollout: Rollout, now: datetime) -> bool:
    """Keep when clients were well again; True when the rollback may end, False where it cleans up first."""
    runs = list(rollout.runs.filter(direction=RunDirection.FORWARD).select_related("server").order_by("position"))
    note_restored(rollout, answered=answered_at(runs))
    failed = [run for run in runs if run.state in _ENDED_BADLY]
    if len(failed) == len(runs) and _is_worth_turning_back(failed):
        turn_from_run(rollout, failed[0], now=now)
        return False
    return clear_after(rollout, now)


def _is_worth_turning_back(failed: list[Run]) -> bool:
    """A rollback that succeeded nowhere must leave nothing behind; a server that is down would only be waited for."""
    changed = [run for run in failed if run.has_changed_server]
    return any(run.error.get("code") != ServerUnreachable.code for run in changed)


def _on_failure(rollout: Rollout, policy: Policy, now: datetime) -> None:
    runs = rollout.runs.filter(direction=RunDirection.FORWARD, state__in=_ENDED_BADLY)
    failed = runs.select_related("server").order_by("position").first()
    if failed is None:
        told = NoServers(f"every server of {rollout} was cordoned or retired before its turn")
        turn_by_itself(rollout, error_document(told), now=now)
        return
    if policy.failure == OnFailure.PAUSE and failed.state == RunState.FAILED:
        pause_by_itself(rollout, reason=_named(failed), now=now)
        return
    turn_from_run(rollout, failed, now=now)


def _named(failed: Run) -> str:
    """Which server, and why; most messages name it themselves."""
    server, message = failed.server.name, str(failed.error.get("message", "failed"))
    return message if message.startswith(f"{server}:") else f"{server}: {message}"


def _start(rollout: Rollout, now: datetime, *, most: int) -> None:
    """Begin the next runs of the wave, `most` at once: two statements, and a message for each."""
    chosen = _next_ones(rollout, most=most)
    if not chosen:
        return
    move_all(Run.objects.filter(pk__in=chosen), RunState.RUNNING, started_at=now, due_at=now, woken_at=now)
    for pk in chosen:
        wake("conch.advance_run", run_id=pk, is_behind=not rollout.is_going_back)


def _next_ones(rollout: Rollout, *, most: int) -> list[int]:
    """The runs whose turn it is. A server that was cordoned before its turn is left out, and the one after it comes.

    One that is tried again has begun: it is not left half done.
    """
    if most <= 0:
        return []
    queued = rollout.runs.filter(direction=RunDirection.FORWARD, state=RunState.QUEUED, wave=rollout.wave)
    in_turn = queued.order_by("position").values_list("pk", "position", "server__cordoned_at", "started_at")
    found = list(in_turn[:most])
    is_out = Q(server__cordoned_at__isnull=False, started_at__isnull=True)
    if rollout.goes_in_waves and any(cordoned_at and not started_at for *_, cordoned_at, started_at in found):
        found = list(in_turn.exclude(is_out)[:most])
        passed = queued.filter(is_out, position__lt=found[-1][1]) if len(found) == most else queued.filter(is_out)
        leave_out(rollout, list(passed.values_list("pk", flat=True)))
    return [pk for pk, *_ in found]


def _see_to_judging(rollout: Rollout, policy: Policy, tally: _Tally, now: datetime) -> None:
    """Gates are judged from the moment the first server has the new version."""
    if not policy.gates or rollout.judge_at is not None or not tally.number(RunState.SUCCEEDED):
        return
    unseen = {gate.name for gate in policy.gates} - set(rollout.skipped_gates) - set(looks(rollout, policy.gates))
    if unseen:
        _keep(rollout, judge_at=now)
        wake("conch.judge_rollout", rollout_id=rollout.pk)


def _end_wave(rollout: Rollout, policy: Policy, tally: _Tally, now: datetime) -> datetime | None:
    """Bake, look at the gates, then begin the next wave or settle; when to look again while that takes time.

    A wave whose servers were all left out has nothing to bake; the last bake is that of the whole.
    """
    is_last = rollout.wave + 1 >= tally.waves
    bake_s = policy.bake_after(rollout.wave, waves=tally.waves)
    if bake_s and (is_last or tally.number(*RunState, wave=rollout.wave)):
        since = rollout.baking_since
        if since is None or since > now:
            # A clock that was ahead began it: it begins now.
            since = _begin_bake(rollout, policy, now, bake_s)
        until = since + timedelta(seconds=bake_s)
        if now < until:
            return until
        if not _may_go_on(rollout, policy, until, now):
            return None
    _keep(rollout, wave=rollout.wave + 1, baking_since=None, judge_at=None if is_last else rollout.judge_at)
    return go_forward(rollout, now)


def _begin_bake(rollout: Rollout, policy: Policy, now: datetime, bake_s: int) -> datetime:
    until = now + timedelta(seconds=bake_s)
    is_late = policy.gates and (rollout.judge_at is None or rollout.judge_at > until)
    _keep(rollout, baking_since=now, judge_at=until if is_late else rollout.judge_at)
    return now


def _may_go_on(rollout: Rollout, policy: Policy, until: datetime, now: datetime) -> bool:
    """What the gates say at the end of a bake; whoever is not passed stops here, or turns back."""
    found = standings(rollout, policy, since=until)
    if Standing.FAILED in found.values():
        turn_back_by_gate(rollout.pk, failed=gate_failure(rollout))
        return False
    if Standing.OPEN in found.values():
        return False
    unclear = sorted(name for name, standing in found.items() if standing == Standing.UNCLEAR)
    return not unclear or _despite(rollout, policy, unclear, now)


def _despite(rollout: Rollout, policy: Policy, unclear: list[str], now: datetime) -> bool:
    """What the policy says of gates that could not be judged: no data is never a pass."""
    told = GateInconclusive(f"gate {', '.join(unclear)} of {rollout} could not be judged in its bake", gates=unclear)
    if policy.inconclusive == Unclear.PAUSE:
        pause_by_itself(rollout, reason=told.message, now=now)
    elif policy.inconclusive == Unclear.ROLL_BACK:
        turn_by_itself(rollout, error_document(told), now=now)
    else:
        placement = rollout.placement
        record(
            CLOCK,
            "go_on_unjudged",
            subject_kind="rollout",
            subject=str(rollout.pk),
            environment=placement.environment.name,
            model=placement.model.name,
            reason=told.message,
            wave=rollout.wave,
        )
    return policy.inconclusive == Unclear.GO_ON


def _keep(rollout: Rollout, **fields: object) -> None:
    Rollout.objects.filter(pk=rollout.pk).update(**fields)
    for name, value in fields.items():
        setattr(rollout, name, value)
