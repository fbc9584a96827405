"""How a rollout goes from run to run and ends. One locked transaction each time; nothing outside is called."""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from apps.audit.services import record
from apps.common.actor import CLOCK
from apps.common.dispatch import wake
from apps.common.transitions import try_move
from apps.deployments import plan
from apps.deployments.errors import ShadowFailed
from apps.deployments.models import Placement, Rollout, Run, StepRun
from apps.deployments.selectors.policies import rollout_policy
from apps.deployments.selectors.work import work
from apps.deployments.services.history import keep_done, keep_put_back
from apps.deployments.services.restoring import answered_at, note_restored, put_back_at
from apps.deployments.services.superseding import start_late
from apps.deployments.states import (
    ACTIVE_ROLLOUT,
    ACTIVE_RUN,
    RolloutKind,
    RolloutState,
    RunDirection,
    RunState,
    StepState,
)
from apps.serving.errors import ServerUnreachable

LOOK_AGAIN_S = 5.0
RETIRE_AGAIN_S = 300
# What is put back as soon as one server fails.
PUT_BACK = (RolloutKind.PROMOTE, RolloutKind.RECONFIGURE)


def advance_rollout(rollout_id: int, *, now: datetime) -> None:
    """Start what is next, or end the rollout; nothing when a run is under way."""
    with transaction.atomic():
        rollout = (
            Rollout.objects.select_for_update(of=("self",))
            .select_related("placement__environment", "placement__model", "from_version", "to_version", "to_overlay")
            .filter(pk=rollout_id, state__in=ACTIVE_ROLLOUT)
            .first()
        )
        if rollout is None:
            _wake_successor(rollout_id)
            return
        if rollout.state == RolloutState.QUEUED:
            try_move(rollout, RolloutState.RUNNING, started_at=now)
        if rollout.state == RolloutState.RUNNING:
            _go_forward(rollout, now)
        elif rollout.state == RolloutState.REVERTING:
            _go_back(rollout, now)
        Rollout.objects.filter(pk=rollout.pk).update(due_at=now + timedelta(seconds=LOOK_AGAIN_S))


def _wake_successor(rollout_id: int) -> None:
    """A rollback that took over waits for the last worker in what it took over from."""
    for successor in Rollout.objects.filter(superseded=rollout_id, state__in=ACTIVE_ROLLOUT):
        wake("conch.advance_rollout", rollout_id=successor.pk)


def _go_forward(rollout: Rollout, now: datetime) -> None:
    if not start_late(rollout, now=now):
        return
    runs = list(rollout.runs.filter(direction=RunDirection.FORWARD).order_by("position"))
    failed = [run for run in runs if run.state in (RunState.FAILED, RunState.CANCELLED)]
    if failed and rollout.kind in PUT_BACK:
        _turn_back(rollout, failed[0], now)
        return
    active = [run for run in runs if run.state in ACTIVE_RUN]
    if active:
        if active[0].state == RunState.QUEUED:
            _start(active[0], now)
        return
    if rollout.kind == RolloutKind.ROLLBACK and not _has_gone_back(rollout, runs, failed, now):
        return
    if len(failed) < len(runs) and not _settle(rollout, runs, now):
        return
    _finish_forward(rollout, runs, failed, now)


def _has_gone_back(rollout: Rollout, runs: list[Run], failed: list[Run], now: datetime) -> bool:
    """Keep when clients were well again; True when the rollback may end, False where it cleans up first."""
    note_restored(rollout, answered=answered_at(runs))
    if len(failed) == len(runs) and _is_worth_turning_back(failed):
        _turn_back(rollout, failed[0], now)
        return False
    return _clear_after(rollout, now)


def _is_worth_turning_back(failed: list[Run]) -> bool:
    """A rollback that succeeded nowhere must leave nothing behind; a server that is down would only be waited for."""
    changed = [run for run in failed if run.has_changed_server]
    return any(run.error.get("code") != ServerUnreachable.code for run in changed)


def _start(run: Run, now: datetime) -> None:
    if try_move(run, RunState.RUNNING, started_at=now, due_at=now):
        wake("conch.advance_run", run_id=run.pk)


def _turn_back(rollout: Rollout, failed: Run, now: datetime) -> None:
    rollout.runs.filter(state=RunState.QUEUED).update(state=RunState.CANCELLED, finished_at=now)
    server = failed.server.name
    error = {**failed.error, "server": server, "run": failed.pk}
    try_move(rollout, RolloutState.REVERTING, error=error, turned_at=now)
    _go_back(rollout, now)


def _go_back(rollout: Rollout, now: datetime) -> None:
    """Put back every server a forward run changed, and clear away shadows left in the middle; then end.

    All at once, but for a server on which a worker is still in a step: that one follows when the step is over.
    """
    runs = list(rollout.runs.select_related("server").order_by("position"))
    reverts = [run for run in runs if run.direction == RunDirection.REVERT]
    busy = {run.server_id for run in runs if run not in reverts and run.state in ACTIVE_RUN}
    changed = [run for run in runs if run.has_changed_server and run.direction == RunDirection.FORWARD]
    is_reconfiguring = rollout.kind == RolloutKind.RECONFIGURE
    recipe = plan.revert_recipe(has_old=rollout.from_version is not None, is_reconfiguring=is_reconfiguring)
    free = [run for run in changed if run.server_id not in busy]
    reverts += _start_missing(rollout, RunDirection.REVERT, recipe, like=free, there=reverts, now=now)
    if busy:
        return
    reverts += _start_missing(
        rollout, RunDirection.REVERT, list(plan.CLEAR), like=_left_shadows(rollout), there=reverts, now=now
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
    _end(
        rollout,
        RolloutState.FAILED if has_failed else RolloutState.ROLLED_BACK,
        now,
        error=_with_reverts(rollout, failed),
    )


def _left_shadows(rollout: Rollout) -> list[Run]:
    """Runs that ended in the middle of their shadow, whose own clean-up did not come to its end."""
    unfinished = StepRun.objects.filter(run__rollout=rollout, name="shadow", state=StepState.FAILED)
    unfinished = unfinished.exclude(error__code=ShadowFailed.code)
    return list(rollout.runs.filter(steps__in=unfinished).order_by("position"))


def _with_reverts(rollout: Rollout, failed: list[Run]) -> dict[str, Any]:
    if not failed:
        return dict(rollout.error)
    return {**rollout.error, "not_put_back": [{"server": run.server.name, **run.error} for run in failed]}


def _settle(rollout: Rollout, runs: list[Run], now: datetime) -> bool:
    """Write what now serves into each repository, once, on its first server that changed; True when all is written."""
    by_repository: dict[int, Run] = {}
    for run in runs:
        if run.state == RunState.SUCCEEDED:
            by_repository.setdefault(run.server.repository_id, run)
    settling = list(rollout.runs.filter(direction=RunDirection.SETTLE))
    settling += _start_missing(
        rollout, RunDirection.SETTLE, list(plan.SETTLE), like=list(by_repository.values()), there=settling, now=now
    )
    return not any(run.state in ACTIVE_RUN for run in settling)


def _clear_after(rollout: Rollout, now: datetime) -> bool:
    """Clear away the shadows of what this rollback took over from; True when none is left to wait for."""
    left = [run for taken in rollout.superseded.all() for run in _left_shadows(taken)]
    there = list(rollout.runs.filter(direction=RunDirection.REVERT))
    there += _start_missing(rollout, RunDirection.REVERT, list(plan.CLEAR), like=left, there=there, now=now)
    return not any(run.state in ACTIVE_RUN for run in there)


def _start_missing(
    rollout: Rollout, direction: RunDirection, recipe: list[str], *, like: list[Run], there: list[Run], now: datetime
) -> list[Run]:
    have = {run.server_id for run in there}
    made = [
        Run.objects.create(
            rollout=rollout,
            server=run.server,
            model_id=run.model_id,
            direction=direction,
            position=run.position,
            state=RunState.RUNNING,
            started_at=now,
            recipe=recipe,
        )
        for run in like
        if run.server_id not in have
    ]
    for run in made:
        wake("conch.advance_run", run_id=run.pk)
    return made


def _finish_forward(rollout: Rollout, runs: list[Run], failed: list[Run], now: datetime) -> None:
    """Move the placement's pointers and end. A rollback that reached some servers has moved them."""
    succeeded = [run for run in runs if run.state == RunState.SUCCEEDED]
    if succeeded and rollout.kind != RolloutKind.HEAL:
        _point(rollout, succeeded[0], now)
    elif rollout.kind == RolloutKind.RETIRE:
        later = now + timedelta(seconds=RETIRE_AGAIN_S)
        Placement.objects.filter(pk=rollout.placement_id).update(standby_until=later)
    error: dict[str, Any] = {}
    if failed:
        error = {**failed[0].error, "servers": [run.server.name for run in failed]}
    unsettled = rollout.runs.filter(direction=RunDirection.SETTLE, state=RunState.FAILED).first()
    if unsettled is not None and not error:
        error = {**unsettled.error, "code": "not_persisted"}
    _end(rollout, RolloutState.FAILED if failed else RolloutState.SUCCEEDED, now, error=error)


def _point(rollout: Rollout, run: Run, now: datetime) -> None:
    if rollout.kind == RolloutKind.RECONFIGURE:
        Placement.objects.filter(pk=rollout.placement_id).update(overlay=rollout.to_overlay)
        return
    if rollout.from_version_id == rollout.to_version_id and rollout.kind != RolloutKind.RETIRE:
        # A server was brought right: what is live has not changed.
        return
    final = work(run.pk).sets[1]
    old, window_s = rollout.from_version, rollout_policy(rollout).standby_window_s
    is_kept = old is not None and old.pk != rollout.to_version_id and old.number in final
    Placement.objects.filter(pk=rollout.placement_id).update(
        active=rollout.to_version,
        standby=old if is_kept else None,
        standby_until=now + timedelta(seconds=window_s) if is_kept else None,
        **({} if rollout.kind == RolloutKind.RETIRE else {"since": now}),
    )
    keep_done(rollout, standby=old if is_kept else None, now=now)


def _end(rollout: Rollout, state: RolloutState, now: datetime, *, error: dict[str, Any]) -> None:
    if not try_move(rollout, state, finished_at=now, error=error):
        return
    placement = rollout.placement
    record(
        CLOCK,
        f"rollout_{state}",
        subject_kind="rollout",
        subject=str(rollout.pk),
        environment=placement.environment.name,
        model=placement.model.name,
        reason=error.get("message", ""),
        kind=rollout.kind,
        seconds=round((now - rollout.created_at).total_seconds(), 3),
        error=error,
    )
