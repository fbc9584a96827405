"""Holding what is live in one place, and letting go of it."""

from collections.abc import Collection
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.deployments.errors import PlacementHeld, PlacementNotHeld, ReasonMissing
from apps.deployments.models import Placement
from apps.deployments.selectors.placements import get_placement
from apps.deployments.selectors.rollouts import active_rollout
from apps.deployments.services.beginning import rollout_active
from apps.deployments.states import IN_WAVES, RolloutKind

HOLD = "hold"
_MOVES_AWAY = (*IN_WAVES, RolloutKind.UNLOAD)
_FREE = {"held_at": None, "held_by": "", "hold_reason": ""}


def hold(actor: Actor, *, environment: str, model: str, reason: str) -> Placement:
    """Keep everything but rollbacks from moving what is live there, until somebody lets go.

    RolloutActive while something moves it away already: a hold that says nothing moves would not be true.
    """
    require(actor, "hold", environment)
    placement = get_placement(environment, model)
    _require_reason(reason, f"holding {placement}")
    with transaction.atomic():
        # Whatever begins takes this lock too.
        Placement.objects.select_for_update().get(pk=placement.pk)
        moving = active_rollout(placement)
        if moving is not None and moving.kind in _MOVES_AWAY:
            raise rollout_active(moving)
        keep_held(actor, placement, reason=reason, now=timezone.now())
        _record(actor, "hold", placement, reason=reason)
    return placement


def unhold(actor: Actor, *, environment: str, model: str, reason: str) -> Placement:
    """Let go of a hold."""
    require(actor, "unhold", environment)
    placement = get_placement(environment, model)
    _require_reason(reason, f"letting go of {placement}")
    with transaction.atomic():
        if not let_go(actor, placement, reason=reason):
            raise PlacementNotHeld(f"{placement} is not held")
    return get_placement(environment, model)


def keep_held(actor: Actor, placement: Placement, *, reason: str, now: datetime) -> None:
    """Hold it, in the caller's transaction; the newest reason is the one that counts."""
    held = {"held_at": now, "held_by": actor.name, "hold_reason": reason}
    Placement.objects.filter(pk=placement.pk).update(**held)
    placement.held_at, placement.held_by, placement.hold_reason = now, actor.name, reason


def let_go(actor: Actor, placement: Placement, *, reason: str) -> bool:
    """Let go, in the caller's transaction; False when nothing was held."""
    was_held = bool(Placement.objects.filter(pk=placement.pk, held_at__isnull=False).update(**_FREE))
    if was_held:
        _record(actor, "unhold", placement, reason=reason)
    return was_held


def refuse_held(placement: Placement) -> None:
    """PlacementHeld, with who holds it and why."""
    if placement.held_at is not None:
        raise PlacementHeld(
            f"{placement} is held by {placement.held_by} since {placement.held_at:%Y-%m-%d %H:%M} UTC: "
            f"{placement.hold_reason}",
            actor=placement.held_by,
            why=placement.hold_reason,
        )


def ask_about_hold(placement: Placement, confirm: Collection[str]) -> None:
    """A hold is there so that nothing moves by accident: going on says so."""
    if HOLD not in confirm:
        refuse_held(placement)


def _record(actor: Actor, verb: str, placement: Placement, *, reason: str) -> None:
    record(
        actor,
        verb,
        subject_kind="placement",
        subject=str(placement),
        environment=placement.environment.name,
        model=placement.model.name,
        reason=reason,
    )


def _require_reason(reason: str, what: str) -> None:
    if not reason.strip():
        raise ReasonMissing(f"{what} needs a reason", field="reason")
