"""Pausing a promotion: what has begun on a server is ended, nothing more begins."""

from datetime import datetime

from django.db import transaction

from apps.audit.services import record
from apps.common.actor import CLOCK, Actor
from apps.common.transitions import try_move
from apps.deployments.models import Rollout
from apps.deployments.states import RolloutState

MOST_CHARS = 1_000


def pause_by_itself(rollout: Rollout, *, reason: str, now: datetime) -> bool:
    """Conch pauses: somebody must look. In the caller's transaction; False when it cannot be paused any more."""
    return hold_still(CLOCK, rollout, reason=reason, now=now)


def can_pause(rollout: Rollout) -> bool:
    """Whether it goes in waves, which can wait; the others can only be left to end."""
    return rollout.goes_in_waves


@transaction.atomic
def pause_for_neighbours(rollout: Rollout, *, reason: str, now: datetime) -> bool:
    """A load has hurt other models: no further server until somebody has looked."""
    return can_pause(rollout) and pause_by_itself(rollout, reason=reason[:MOST_CHARS], now=now)


def hold_still(actor: Actor, rollout: Rollout, *, reason: str, now: datetime) -> bool:
    """Pause, and say so in the audit."""
    if not try_move(rollout, RolloutState.PAUSED, paused_at=now, paused_by=actor.name, pause_reason=reason):
        return False
    placement = rollout.placement
    record(
        actor,
        "pause",
        subject_kind="rollout",
        subject=str(rollout.pk),
        environment=placement.environment.name,
        model=placement.model.name,
        reason=reason,
        wave=rollout.wave,
    )
    return True
