"""How a rollout ends: pointers, then its terminal state and the audit event, in the caller's transaction."""

from datetime import datetime, timedelta
from typing import Any

from apps.audit.services import record
from apps.common.actor import CLOCK
from apps.common.keeping import error_document
from apps.common.transitions import try_move
from apps.deployments.errors import NoServers
from apps.deployments.models import Placement, Rollout, Run
from apps.deployments.selectors.policies import rollout_policy
from apps.deployments.selectors.work import work
from apps.deployments.services.history import keep_done
from apps.deployments.services.waking import look_for_those_who_wait
from apps.deployments.states import RolloutKind, RolloutState, RunDirection, RunState

RETIRE_AGAIN_S = 300


def finish_forward(rollout: Rollout, now: datetime) -> None:
    """Move the placement's pointers and end. A rollback that reached some servers has moved them."""
    forward = rollout.runs.filter(direction=RunDirection.FORWARD).order_by("position")
    succeeded = forward.filter(state=RunState.SUCCEEDED).first()
    failed = list(forward.exclude(state=RunState.SUCCEEDED).select_related("server"))
    if succeeded is not None and rollout.kind != RolloutKind.HEAL:
        _point(rollout, succeeded, now)
    elif rollout.kind == RolloutKind.RETIRE:
        later = now + timedelta(seconds=RETIRE_AGAIN_S)
        Placement.objects.filter(pk=rollout.placement_id).update(standby_until=later)
    is_done = succeeded is not None and not failed
    error = _troubles(rollout, failed, has_reached=bool(succeeded or failed))
    end(rollout, RolloutState.SUCCEEDED if is_done else RolloutState.FAILED, now, error=error)


def _troubles(rollout: Rollout, failed: list[Run], *, has_reached: bool) -> dict[str, Any]:
    """What is to be told of the end; empty when all went well.

    A rollout that reached no server is not done: one that is added now gets what the pointers say, and they stand.
    """
    if not has_reached:
        told = f"every server of {rollout} was retired before its turn, so nothing has changed; ask again"
        return error_document(NoServers(told))
    if failed:
        return {**failed[0].error, "servers": [run.server.name for run in failed]}
    unsettled = rollout.runs.filter(direction=RunDirection.SETTLE, state=RunState.FAILED).first()
    return {**unsettled.error, "code": "not_persisted"} if unsettled is not None else {}


def _point(rollout: Rollout, run: Run, now: datetime) -> None:
    if rollout.kind == RolloutKind.RECONFIGURE:
        Placement.objects.filter(pk=rollout.placement_id).update(overlay=rollout.to_overlay)
        keep_done(rollout, standby=Placement.objects.get(pk=rollout.placement_id).standby, now=now)
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


def end(rollout: Rollout, state: RolloutState, now: datetime, *, error: dict[str, Any]) -> None:
    """Once: the terminal state, and who reads the audit knows it."""
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
    if rollout.kind == RolloutKind.HEAL:
        look_for_those_who_wait(rollout)
