"""How a worker walks one run: claim it, record each step, give it back. Every call is safe to repeat."""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.audit.services import record
from apps.common.actor import CLOCK
from apps.common.due import is_free
from apps.common.errors import ControlPlaneError
from apps.common.keeping import error_document
from apps.common.transitions import try_move
from apps.deployments.models import Run, StepRun
from apps.deployments.services.history import has_begun, keep_begun
from apps.deployments.services.waking import wake_rollout, wake_run
from apps.deployments.states import GOING_ROLLOUT, RolloutKind, RolloutState, RunDirection, RunState, StepState

# A step that waits is called again within seconds, however busy the workers are.
LONGEST_UNSEEN = timedelta(seconds=60)


def claim_run(run_id: int, *, owner: str, now: datetime, lease_s: float) -> bool:
    """Take the run's lease by compare-and-set; False when it is not running or somebody holds it."""
    return bool(
        Run.objects.filter(is_free(now), pk=run_id, state=RunState.RUNNING).update(
            lease_owner=owner, lease_until=now + timedelta(seconds=lease_s)
        )
    )


def renew_lease(run_id: int, *, owner: str, now: datetime, lease_s: float) -> bool:
    """Hold on to the lease; False when it was lost."""
    held = Run.objects.filter(pk=run_id, lease_owner=owner, state=RunState.RUNNING)
    return bool(held.update(lease_until=now + timedelta(seconds=lease_s)))


def release_run(run: Run, *, owner: str, due_at: datetime, waiting_for: str, after_s: float) -> None:
    """Give the run back until `due_at` and ask to be called again then."""
    held = Run.objects.filter(pk=run.pk, lease_owner=owner)
    if held.update(lease_owner="", lease_until=None, due_at=due_at, woken_at=due_at, waiting_for=waiting_for):
        wake_run(run, after_s=after_s)


def is_wanted(run: Run) -> bool:
    """Whether the rollout, as just read, still wants this run; a pause lets what has begun come to its end.

    An abort turns away all but those that put back; a rollback that took over turns away every one.
    """
    wanted_in = (*GOING_ROLLOUT, *((RolloutState.REVERTING,) if run.direction == RunDirection.REVERT else ()))
    return run.rollout.state in wanted_in


def begin_step(run: Run, name: str, *, known: StepRun | None, now: datetime) -> StepRun:
    """The step's row, counting one more call. A row found RUNNING tells that a worker was lost in it.

    `known` is the row as the holder of the lease read or wrote it last; without one it makes the row, and
    IntegrityError tells that somebody else has.
    """
    if known is None:
        position = run.recipe.index(name)
        return StepRun.objects.create(run=run, name=name, position=position, started_at=now, called_at=now, calls=1)
    was_lost, started_at = int(known.state == StepState.RUNNING), _counts_from(known, now)
    counted = StepRun.objects.filter(pk=known.pk, state__in=(StepState.RUNNING, StepState.WAITING)).update(
        state=StepState.RUNNING,
        calls=F("calls") + 1,
        lost_workers=F("lost_workers") + was_lost,
        started_at=started_at,
        called_at=now,
    )
    if counted:
        known.state, known.calls, known.lost_workers = StepState.RUNNING, known.calls + 1, known.lost_workers + was_lost
        known.started_at, known.called_at = started_at, now
    else:
        known.refresh_from_db()
    return known


def _counts_from(step: StepRun, now: datetime) -> datetime:
    """Where its deadlines count from: of a time in which nobody called it, or a clock was set, little counts."""
    unseen = now - (step.called_at or now) - LONGEST_UNSEEN
    return min(step.started_at + max(unseen, timedelta()), now)


def remember(step: StepRun, **memory: Any) -> None:
    """Keep what the step must know when it is called again, before it acts on the world."""
    step.memory = {**step.memory, **memory}
    StepRun.objects.filter(pk=step.pk).update(memory=step.memory)


def note_change(run: Run) -> None:
    """Keep that the server is about to be changed: from here on, failing means putting it back."""
    brings = run.rollout.kind == RolloutKind.PROMOTE and run.direction == RunDirection.FORWARD
    if brings and not has_begun(run.rollout):
        with transaction.atomic():
            Run.objects.filter(pk=run.pk).update(has_changed_server=True)
            keep_begun(run.rollout, now=timezone.now())
    else:
        Run.objects.filter(pk=run.pk).update(has_changed_server=True)
    run.has_changed_server = True


def pass_step(step: StepRun, *, detail: dict[str, Any], now: datetime) -> None:
    """The step is done."""
    try_move(step, StepState.SUCCEEDED, detail=detail, finished_at=now)


def wait_in_step(step: StepRun, *, is_failure: bool, why: str) -> None:
    """The step wants to be called again; after a retryable error, one more failure is counted."""
    try_move(
        step,
        StepState.WAITING,
        failures=step.failures + int(is_failure),
        detail={**step.detail, "waiting_for": why},
    )


def reroute(run: Run, recipe: list[str], *, why: str) -> None:
    """Walk another recipe from here on, and say why; steps already done stay done."""
    with transaction.atomic():
        Run.objects.filter(pk=run.pk).update(recipe=recipe)
        StepRun.objects.filter(run=run).exclude(state=StepState.SUCCEEDED).delete()
        placement = run.rollout.placement
        record(
            CLOCK,
            "run_rerouted",
            subject_kind="rollout",
            subject=str(run.rollout_id),
            environment=placement.environment.name,
            model=run.model.name,
            reason=why,
            recipe=recipe,
        )
    run.recipe = recipe


def end_run(
    run: Run, *, state: RunState, now: datetime, error: ControlPlaneError | None = None, after_s: float = 0
) -> None:
    """Bring a run to its terminal state, once, and wake its rollout; `error` is also that of the step it was in.

    With `after_s` the rollout may be looked at so much later, together with whatever ends until then.
    """
    said = {"finished_at": now, "waiting_for": "", "lease_owner": "", "lease_until": None}
    if error is None:
        ended = try_move(run, state, error={}, **said)
    else:
        ended = _end_with(run, state, error_document(error), said)
    if ended:
        wake_rollout(run.rollout_id, now=now, after_s=after_s)


def _end_with(run: Run, state: RunState, kept: dict[str, Any], said: dict[str, Any]) -> bool:
    """The step that was open has the error, too."""
    with transaction.atomic():
        open_steps = StepRun.objects.filter(run=run, state__in=(StepState.RUNNING, StepState.WAITING))
        open_steps.update(state=StepState.FAILED, error=kept, finished_at=said["finished_at"])
        return try_move(run, state, error=kept, **said)
