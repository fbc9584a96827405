"""Stopping a rollout that is moving: it puts back the servers it has already changed."""

from django.db import transaction
from django.utils import timezone

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.common.dispatch import wake
from apps.common.keeping import error_document
from apps.common.transitions import try_move
from apps.deployments.errors import Aborted, ReasonMissing, RolloutNotAbortable
from apps.deployments.models import Rollout
from apps.deployments.selectors.rollouts import get_rollout
from apps.deployments.services.beginning import rollout_active
from apps.deployments.states import RolloutKind, RolloutState, RunState


def abort(actor: Actor, *, rollout: int, reason: str) -> Rollout:
    """Stop a promotion and put back what was live before."""
    moving = get_rollout(rollout)
    require(actor, "abort", moving.placement.environment.name)
    if not reason.strip():
        raise ReasonMissing(f"aborting {moving} needs a reason", field="reason")
    return _abort(actor, moving, reason=reason, verb="abort")


def abort_for_rollback(actor: Actor, moving: Rollout, *, to: int | None, reason: str) -> Rollout | None:
    """Roll back while a promotion is moving: the same as aborting it, if that leads where asked.

    None when the promotion has come live at this very moment: then there is something to roll back.
    """
    before = moving.from_version.number if moving.from_version else None
    if moving.kind != RolloutKind.PROMOTE or (to is not None and to != before):
        raise rollout_active(moving)
    if moving.state == RolloutState.REVERTING:
        return moving
    try:
        return _abort(actor, moving, reason=reason, verb="roll_back")
    except RolloutNotAbortable:
        moving.refresh_from_db(fields=["state", "error", "finished_at"])
        if moving.state == RolloutState.FAILED:
            raise
        return None if moving.state == RolloutState.SUCCEEDED else moving


def _abort(actor: Actor, moving: Rollout, *, reason: str, verb: str) -> Rollout:
    if moving.kind != RolloutKind.PROMOTE:
        raise RolloutNotAbortable(f"{moving} is a {moving.kind}: it can only be left to end", state=moving.state)
    now = timezone.now()
    why = error_document(Aborted(f"{actor.name}: {reason}"))
    with transaction.atomic():
        if not try_move(moving, RolloutState.REVERTING, error=why, due_at=now):
            raise RolloutNotAbortable(f"{moving} is {moving.state}", state=moving.state)
        moving.runs.filter(state=RunState.QUEUED).update(state=RunState.CANCELLED, finished_at=now)
        record(
            actor,
            verb,
            subject_kind="rollout",
            subject=str(moving.pk),
            environment=moving.placement.environment.name,
            model=moving.placement.model.name,
            reason=reason,
        )
        wake("conch.advance_rollout", rollout_id=moving.pk)
    return moving
