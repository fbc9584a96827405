"""Putting back the servers that a rollout has already changed, and ending it."""

from datetime import datetime
from typing import Any

from django.db.models import Count, Q

from apps.common.transitions import move_all, try_move
from apps.deployments import plan
from apps.deployments.errors import ShadowFailed
from apps.deployments.models import Placement, Rollout, Run, StepRun
from apps.deployments.services.ending import end
from apps.deployments.services.extra_runs import start_missing
from apps.deployments.services.history import keep_put_back
from apps.deployments.services.restoring import note_restored, put_back_at
from apps.deployments.services.together import take_release_back
from apps.deployments.states import ACTIVE_RUN, RolloutKind, RolloutState, RunDirection, RunState, StepState


def turn_by_itself(rollout: Rollout, error: dict[str, Any], *, now: datetime) -> None:
    """Begin nothing more and put back what was changed; `error` tells why, and stays with the rollout."""
    take_release_back(rollout, error, now=now)
    move_all(rollout.runs.filter(state=RunState.QUEUED), RunState.CANCELLED, finished_at=now)
    if try_move(rollout, RolloutState.REVERTING, error=error, turned_at=now):
        go_back(rollout, now)


def turn_from_run(rollout: Rollout, failed: Run, *, now: datetime) -> None:
    """Turn round because a run failed."""
    turn_by_itself(rollout, {**failed.error, "server": failed.server.name, "run": failed.pk}, now=now)


def go_back(rollout: Rollout, now: datetime) -> None:
    """Put back every server a forward run changed, and clear away shadows left in the middle; then end.

    All at once, but for a server on which a worker is still in a step: that one follows when the step is over.
    """
    if _is_under_way(rollout):
        return
    runs = list(rollout.runs.select_related("server").order_by("position"))
    reverts = [run for run in runs if run.direction == RunDirection.REVERT]
    busy = {run.server_id for run in runs if run not in reverts and run.state in ACTIVE_RUN}
    changed = [run for run in runs if run.has_changed_server and run.direction == RunDirection.FORWARD]
    is_reconfiguring = rollout.kind == RolloutKind.RECONFIGURE
    recipe = plan.revert_recipe(has_old=rollout.from_version is not None, is_reconfiguring=is_reconfiguring)
    free = [run for run in changed if run.server_id not in busy]
    reverts += start_missing(rollout, RunDirection.REVERT, recipe, like=free, there=reverts, now=now)
    if busy:
        return
    reverts += start_missing(
        rollout, RunDirection.REVERT, list(plan.CLEAR), like=left_shadows(rollout), there=reverts, now=now
    )
    if any(run.state in ACTIVE_RUN for run in reverts):
        return
    note_restored(rollout, answered=put_back_at(rollout, reverts))
    keep_put_back(rollout, now=now)
    failed = [run for run in reverts if run.state != RunState.SUCCEEDED]
    placement = rollout.placement
    if changed and placement.standby_id and not is_reconfiguring:
        Placement.objects.filter(pk=placement.pk).update(standby=None, standby_until=None)
    has_failed = bool(failed) or rollout.kind == RolloutKind.ROLLBACK
    end(
        rollout,
        RolloutState.FAILED if has_failed else RolloutState.ROLLED_BACK,
        now,
        error=_with_reverts(rollout, failed),
    )


def _is_under_way(rollout: Rollout) -> bool:
    """Whether every changed server has its run back and one is not done: told without reading them all."""
    is_revert = Q(direction=RunDirection.REVERT)
    seen = rollout.runs.aggregate(
        active=Count("pk", filter=is_revert & Q(state__in=ACTIVE_RUN)),
        reverts=Count("pk", filter=is_revert),
        changed=Count("pk", filter=Q(direction=RunDirection.FORWARD, has_changed_server=True)),
    )
    return bool(seen["active"] and seen["reverts"] >= seen["changed"])


def clear_after(rollout: Rollout, now: datetime) -> bool:
    """Clear away the shadows of what this rollback took over from; True when none is left to wait for."""
    left = [run for taken in rollout.superseded.all() for run in left_shadows(taken)]
    there = list(rollout.runs.filter(direction=RunDirection.REVERT))
    there += start_missing(rollout, RunDirection.REVERT, list(plan.CLEAR), like=left, there=there, now=now)
    return not any(run.state in ACTIVE_RUN for run in there)


def left_shadows(rollout: Rollout) -> list[Run]:
    """Runs that ended in the middle of their shadow, whose own clean-up did not come to its end."""
    unfinished = StepRun.objects.filter(run__rollout=rollout, name="shadow", state=StepState.FAILED)
    unfinished = unfinished.exclude(error__code=ShadowFailed.code)
    return list(rollout.runs.filter(steps__in=unfinished).select_related("server").order_by("position"))


def _with_reverts(rollout: Rollout, failed: list[Run]) -> dict[str, Any]:
    if not failed:
        return dict(rollout.error)
    return {**rollout.error, "not_put_back": [{"server": run.server.name, **run.error} for run in failed]}
