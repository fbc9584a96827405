"""Turning a rollout round while it moves: it puts back the servers it has already changed."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.audit.services import record
from apps.common.actor import CLOCK, Actor
from apps.common.dispatch import wake
from apps.common.errors import ControlPlaneError
from apps.common.keeping import error_document
from apps.common.transitions import try_move
from apps.deployments.errors import Aborted, RolloutNotAbortable
from apps.deployments.models import Placement, Rollout
from apps.deployments.selectors.bans import is_banned, lacks_ban
from apps.deployments.selectors.rollouts import get_rollout
from apps.deployments.services.bans import ban_afterwards, ban_version
from apps.deployments.services.holds import keep_held
from apps.deployments.services.together import take_release_back
from apps.deployments.states import RolloutKind, RolloutState, RunState


def turn_back(actor: Actor, moving: Rollout, *, reason: str, is_banning: bool = True) -> Rollout | None:
    """Roll back what is moving: turned round, held and, unless told otherwise, banned. Asked twice, it is done once.

    None when it has come live at this very moment: then there is something to roll back.
    """
    if moving.kind == RolloutKind.ROLLBACK:
        if is_banning:
            ban_afterwards(actor, moving, reason=reason)
        return moving
    try:
        with transaction.atomic():
            return _turn_and_hold(actor, moving, reason=reason, is_banning=is_banning, error=_aborted(actor, reason))
    except RolloutNotAbortable:
        moving.refresh_from_db(fields=["state", "error", "finished_at"])
        if moving.state == RolloutState.FAILED:
            raise
        return None if moving.state == RolloutState.SUCCEEDED else moving


def turn_back_by_gate(rollout: int, *, failed: ControlPlaneError) -> bool:
    """A gate has failed: the same as somebody rolling back, with the gate as the reason; False when it has ended."""
    moving = get_rollout(rollout)
    try:
        with transaction.atomic():
            _turn_and_hold(CLOCK, moving, reason=failed.message, is_banning=True, error=error_document(failed))
    except RolloutNotAbortable:
        return False
    return True


def stay_back(actor: Actor, ended: Rollout, *, reason: str, is_banning: bool) -> bool:
    """What has gone back is held and banned as if it were turned round now; False where that is done already.

    In the caller's transaction. Where something has moved the placement since, what is live is not held.
    """
    placement, now = ended.placement, timezone.now()
    # Whatever begins takes this lock too.
    Placement.objects.select_for_update().get(pk=placement.pk)
    is_new = is_banning and lacks_ban(ended)
    has_moved = Rollout.objects.filter(placement=placement, created_at__gt=ended.created_at).exists()
    is_held = has_moved or bool(rolled_back_of([ended.pk])) or is_banned(ended)
    if is_held and not is_new:
        return False
    if not is_held:
        keep_held(actor, placement, reason=reason, now=now)
    _record(actor, "roll_back", ended, reason)
    _ban(actor, ended, placement, reason=reason, is_banning=is_banning, now=now)
    return True


def is_rolled_back(turned: Rollout, *, is_banning: bool) -> bool:
    """Whether nothing is left to do of rolling it back: it is held since it turned round and, if asked for, banned."""
    if turned.state != RolloutState.REVERTING or not rolled_back_of([turned.pk]):
        return False
    return not (is_banning and lacks_ban(turned))


def rolled_back_of(turned: Collection[int]) -> set[int]:
    """Which of these were rolled back, not aborted alone: what is live there is held since they turned round."""
    held_since = Rollout.objects.filter(pk__in=turned, placement__held_at__gte=F("turned_at"))
    return set(held_since.values_list("pk", flat=True))


def _turn_and_hold(actor: Actor, moving: Rollout, *, reason: str, is_banning: bool, error: dict[str, Any]) -> Rollout:
    now = timezone.now()
    locked = Rollout.objects.select_for_update().get(pk=moving.pk)
    placement = Placement.objects.select_related("environment", "model").get(pk=moving.placement_id)
    if locked.state == RolloutState.REVERTING:
        moving.state = locked.state
        if is_rolled_back(moving, is_banning=is_banning):
            return moving
        _record(actor, "roll_back", moving, reason)
    else:
        turn(actor, moving, reason=reason, verb="roll_back", error=error, now=now)
    if not rolled_back_of([moving.pk]):
        keep_held(actor, placement, reason=reason, now=now)
    _ban(actor, moving, placement, reason=reason, is_banning=is_banning, now=now)
    return moving


def _ban(actor: Actor, moving: Rollout, placement: Placement, *, reason: str, is_banning: bool, now: datetime) -> None:
    if is_banning and moving.to_version is not None and lacks_ban(moving):
        ban_version(actor, placement, moving.to_version, reason=reason, rollout=moving, now=now)


def turn(actor: Actor, moving: Rollout, *, reason: str, verb: str, error: dict[str, Any], now: datetime) -> None:
    """Send it back, in the caller's transaction; RolloutNotAbortable when it has ended or goes back already.

    ReleaseDecided when it is part of a release that has passed as a whole.
    """
    turned = {
        "turned_at": now,
        "turned_by": actor.name,
        "turned_by_kind": actor.kind,
        "turned_because": reason,
        "error": error,
        "due_at": now,
    }
    if not try_move(moving, RolloutState.REVERTING, **turned):
        raise RolloutNotAbortable(f"{moving} is {moving.state}", state=moving.state)
    take_release_back(moving, error, now=now)
    moving.runs.filter(state=RunState.QUEUED).update(state=RunState.CANCELLED, finished_at=now)
    _record(actor, verb, moving, reason)
    wake("conch.advance_rollout", rollout_id=moving.pk)


def _aborted(actor: Actor, reason: str) -> dict[str, Any]:
    return error_document(Aborted(f"{actor.name}: {reason}"))


def _record(actor: Actor, verb: str, moving: Rollout, reason: str) -> None:
    placement = moving.placement
    record(
        actor,
        verb,
        subject_kind="rollout",
        subject=str(moving.pk),
        environment=placement.environment.name,
        model=placement.model.name,
        reason=reason,
    )
