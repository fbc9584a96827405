"""What people may do with a promotion on its way; each is a right of its own, and each asks why."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.access.selectors import people_behind
from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import CLOCK, Actor
from apps.common.dispatch import wake
from apps.common.transitions import try_move
from apps.deployments.errors import (
    ApprovalByAuthor,
    ApprovalNotNeeded,
    GateTooLate,
    GateUnknown,
    ReasonMissing,
    RolloutNotPausable,
    RolloutNotPaused,
    RunNotRetryable,
)
from apps.deployments.models import Rollout, Run, StepRun
from apps.deployments.selectors.policies import policy_of, rollout_policy
from apps.deployments.selectors.rollouts import get_rollout
from apps.deployments.services.conditions import refuse_frozen, refuse_unproven
from apps.deployments.services.pausing import hold_still
from apps.deployments.states import (
    FORWARD_ROLLOUT,
    GOING_ROLLOUT,
    RolloutKind,
    RolloutState,
    RunDirection,
    RunState,
    StepState,
)


def pause(actor: Actor, *, rollout: int, reason: str) -> Rollout:
    """Begin nothing more until somebody resumes; runs on their way come to their end, gates are judged on."""
    found = _asked(actor, "pause", rollout, reason)
    if not found.goes_in_waves:
        raise RolloutNotPausable(f"{found} is a {found.kind}: it can only be left to end", state=found.state)
    with transaction.atomic():
        if not hold_still(actor, found, reason=reason, now=timezone.now()):
            raise RolloutNotPausable(f"{found} is {found.state}", state=found.state)
    return found


def resume(actor: Actor, *, rollout: int, reason: str) -> Rollout:
    """Go on, unless by now promotions are frozen there.

    A wave that was baking bakes once more from now on, so that its gates have a fresh chance.
    """
    found = _asked(actor, "resume", rollout, reason)
    now = timezone.now()
    if found.state == RolloutState.PAUSED:
        _refuse_in_freeze(found, now=now)
    again: dict[str, Any] = {"baking_since": now} if found.baking_since else {}
    with transaction.atomic():
        found.state = Rollout.objects.select_for_update().values_list("state", flat=True).get(pk=found.pk)
        if found.state != RolloutState.PAUSED or not try_move(
            found,
            RolloutState.RUNNING,
            paused_at=None,
            paused_by="",
            pause_reason="",
            started_at=found.started_at or now,
            due_at=now,
            **again,
        ):
            raise RolloutNotPaused(f"{found} is {found.state}", state=found.state)
        _record(actor, "resume", found, reason)
        wake("conch.advance_rollout", rollout_id=found.pk)
    return found


def approve(actor: Actor, *, rollout: int, reason: str) -> Rollout:
    """Let a promotion begin that somebody else asked for, unless by now none may begin there."""
    found = _asked(actor, "approve", rollout, reason)
    if found.state != RolloutState.UNAPPROVED:
        raise ApprovalNotNeeded(f"{found} is {found.state}", state=found.state)
    if people_behind(actor.kind, actor.name) & people_behind(found.actor_kind, found.actor):
        raise ApprovalByAuthor(f"{found} was asked for by {found.actor}, or with a token of theirs", actor=found.actor)
    now = timezone.now()
    _refuse_to_begin(found, now=now)
    with transaction.atomic():
        if not try_move(found, RolloutState.QUEUED, approved_at=now, approved_by=actor.name, due_at=now):
            raise ApprovalNotNeeded(f"{found} is {found.state}", state=found.state)
        _record(actor, "approve", found, reason)
        wake("conch.advance_rollout", rollout_id=found.pk)
    return found


def _refuse_to_begin(rollout: Rollout, *, now: datetime) -> None:
    """A promotion can wait for days; what the policy in force says of its beginning counts when it begins."""
    _refuse_in_freeze(rollout, now=now)
    if rollout.kind == RolloutKind.PROMOTE and rollout.to_version is not None:
        refuse_unproven(policy_of(rollout.placement.environment), rollout.to_version, now=now)


def _refuse_in_freeze(rollout: Rollout, *, now: datetime) -> None:
    """Whoever paused one has until the window to let it go on; in the window it waits, or goes back."""
    home = rollout.placement.environment
    refuse_frozen(policy_of(home), home.name, now=now)


def retry_run(actor: Actor, *, rollout: int, server: str, reason: str) -> Rollout:
    """Try a failed server again from the step that failed; a rollout that paused by itself goes on.

    One that somebody has paused waits on, until somebody resumes it.
    """
    found = _asked(actor, "retry_run", rollout, reason)
    runs = found.runs.select_related("server").filter(server__name=server, direction=RunDirection.FORWARD)
    run = runs.first()
    if run is None:
        raise RunNotRetryable(f"{found} has no server {server[:128]}", server=server[:128])
    now = timezone.now()
    with transaction.atomic():
        locked = Rollout.objects.select_for_update().only("state", "paused_by").get(pk=found.pk)
        if locked.state not in GOING_ROLLOUT or run.state != RunState.FAILED:
            raise RunNotRetryable(f"{server}: its run is {run.state}, {found} is {locked.state}", state=locked.state)
        _again(run)
        _record(actor, "retry_run", found, reason, server=server, error=run.error)
        if locked.paused_by == CLOCK.name:
            _refuse_in_freeze(found, now=now)
            again = {"paused_at": None, "paused_by": "", "pause_reason": "", "due_at": now}
            try_move(found, RolloutState.RUNNING, **again)
        wake("conch.advance_rollout", rollout_id=found.pk)
    return found


def _again(run: Run) -> None:
    """Steps that succeeded stay done; what failed is forgotten here and kept in the audit."""
    if not try_move(run, RunState.QUEUED, attempts=run.attempts + 1, finished_at=None):
        raise RunNotRetryable(f"{run.server.name}: its run has changed just now")
    StepRun.objects.filter(run=run).exclude(state=StepState.SUCCEEDED).delete()
    Run.objects.filter(pk=run.pk).update(error={})


def skip_gate(actor: Actor, *, rollout: int, gate: str, reason: str) -> Rollout:
    """Let this rollout pass one gate unjudged; the others count as before."""
    found = _asked(actor, "skip_gate", rollout, reason)
    names = [one.name for one in rollout_policy(found).gates]
    if gate not in names:
        raise GateUnknown(f"{found} has no gate {gate[:40]!r}; it has: {', '.join(names) or 'none'}")
    with transaction.atomic():
        row = Rollout.objects.select_for_update().get(pk=found.pk)
        if row.state not in FORWARD_ROLLOUT:
            raise GateTooLate(f"{found} is {row.state}: it passes no gate any more", state=row.state)
        skipped = {**row.skipped_gates, gate: {"by": actor.name, "reason": reason, "at": timezone.now().isoformat()}}
        Rollout.objects.filter(pk=found.pk).update(skipped_gates=skipped, due_at=timezone.now())
        _record(actor, "skip_gate", found, reason, gate=gate)
        wake("conch.advance_rollout", rollout_id=found.pk)
    found.skipped_gates = skipped
    return found


def _asked(actor: Actor, verb: str, rollout: int, reason: str) -> Rollout:
    found = get_rollout(rollout)
    require(actor, verb, found.placement.environment.name)
    if not reason.strip():
        raise ReasonMissing(f"{verb.replace('_', ' ')}: {found} needs a reason", field="reason")
    return found


def _record(actor: Actor, verb: str, rollout: Rollout, reason: str, **detail: Any) -> None:
    placement = rollout.placement
    record(
        actor,
        verb,
        subject_kind="rollout",
        subject=str(rollout.pk),
        environment=placement.environment.name,
        model=placement.model.name,
        reason=reason,
        **detail,
    )
