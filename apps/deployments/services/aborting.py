"""Stopping a rollout that is moving: it puts back the servers it has already changed. Nothing is held or banned."""

from django.db import transaction
from django.utils import timezone

from apps.access.services import require
from apps.common.actor import Actor
from apps.common.keeping import error_document
from apps.deployments.errors import Aborted, ReasonMissing, RolloutNotAbortable
from apps.deployments.models import Rollout
from apps.deployments.selectors.rollouts import get_rollout
from apps.deployments.services.turning import turn
from apps.deployments.states import RolloutKind


def abort(actor: Actor, *, rollout: int, reason: str) -> Rollout:
    """Stop a promotion and put back what was live before."""
    moving = get_rollout(rollout)
    require(actor, "abort", moving.placement.environment.name)
    if not reason.strip():
        raise ReasonMissing(f"aborting {moving} needs a reason", field="reason")
    if moving.kind not in (RolloutKind.PROMOTE, RolloutKind.RECONFIGURE):
        raise RolloutNotAbortable(f"{moving} is a {moving.kind}: it can only be left to end", state=moving.state)
    error = error_document(Aborted(f"{actor.name}: {reason}"))
    with transaction.atomic():
        turn(actor, moving, reason=reason, verb="abort", error=error, now=timezone.now())
    return moving
