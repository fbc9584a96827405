"""Time to restore: from the ask to the last reachable server that answers with what it was to go back to."""

from collections.abc import Iterable
from datetime import datetime

from apps.deployments.models import Rollout, Run, StepRun
from apps.deployments.states import RunState, StepState
from apps.serving.errors import ServerUnreachable

# The step after which a server that was put back answers right.
ANSWERS = ("await_ready", "unload")


def note_restored(rollout: Rollout, *, answered: datetime | None) -> None:
    """Keep the moment, once; None where a server that can be reached did not follow."""
    if answered is not None and rollout.restored_at is None:
        Rollout.objects.filter(pk=rollout.pk, restored_at=None).update(restored_at=answered)
        rollout.restored_at = answered


def answered_at(runs: Iterable[Run]) -> datetime | None:
    """When the last forward run was through; a server that went down meanwhile is not waited for."""
    runs = list(runs)
    if any(run.state != RunState.SUCCEEDED and not _was_down(run) for run in runs):
        return None
    return max((run.finished_at for run in runs if run.state == RunState.SUCCEEDED and run.finished_at), default=None)


def put_back_at(rollout: Rollout, reverts: list[Run]) -> datetime | None:
    """When the last server that was put back answered; where none had changed, the moment it was asked for."""
    if any(run.state != RunState.SUCCEEDED and not _was_down(run) for run in reverts):
        return None
    answers = StepRun.objects.filter(run__in=reverts, name__in=ANSWERS, state=StepState.SUCCEEDED)
    moments = [moment for moment in answers.values_list("finished_at", flat=True) if moment]
    return max(moments, default=rollout.turned_at)


def _was_down(run: Run) -> bool:
    return bool(run.error.get("code") == ServerUnreachable.code)
