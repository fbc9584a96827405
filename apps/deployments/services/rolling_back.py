"""Going back: a verb of its own. It stops whatever moves, reaches every server that can be reached, holds and bans."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from django.db import transaction

from apps.access.services import require
from apps.common.actor import Actor
from apps.deployments.errors import AlreadyActive, NeverLive, NothingToRollBackTo, PlacementChanged, RolloutActive
from apps.deployments.models import Placement, Rollout
from apps.deployments.selectors.bans import are_same, left_unbanned
from apps.deployments.selectors.placements import get_placement
from apps.deployments.selectors.rollouts import active_rollout, last_live
from apps.deployments.selectors.targets import default_target, is_proven, rollback_reach
from apps.deployments.services.bans import ban_afterwards, ban_version, refuse_banned
from apps.deployments.services.beginning import begin
from apps.deployments.services.conditions import ask_about_interface, ready_version, require_reason
from apps.deployments.services.ensembles import ask_about_pins
from apps.deployments.services.holds import keep_held
from apps.deployments.services.turning import turn_back
from apps.deployments.states import RolloutKind
from apps.registry.models import Version

# How often it looks again where somebody was faster: nobody should have to ask twice in an incident.
LOOKS = 3


@dataclass(frozen=True, slots=True)
class _Asked:
    """One request to go back."""

    actor: Actor
    environment: str
    model: str
    to: int | None
    reason: str
    confirm: Collection[str]
    is_banning: bool


def roll_back(
    actor: Actor,
    *,
    environment: str,
    model: str,
    to: int | None = None,
    reason: str,
    confirm: Collection[str] = (),
    ban: bool = True,
) -> Rollout:
    """Go back to an earlier version on all servers at once; hot where it is still loaded.

    Whatever moves the placement stops: a promotion that leads back to the version asked for is turned round, all else
    is taken over from. The placement is held, and what was rolled back is banned there unless `ban` is False.
    A server that cannot be reached is left out and named in the plan: it must not hold up the others.
    """
    require(actor, "roll_back", environment)
    require_reason(reason, f"rolling back {model} in {environment}")
    asked = _Asked(actor, environment, model, to, reason, confirm, is_banning=ban)
    for _ in range(LOOKS - 1):
        # What was moving has ended between looking and acting, or something has begun: a heal, say.
        with suppress(PlacementChanged, RolloutActive):
            return _roll_back(asked)
    return _roll_back(asked)


def _roll_back(asked: _Asked) -> Rollout:
    placement = get_placement(asked.environment, asked.model)
    moving = active_rollout(placement)
    if moving is not None and _leads_there(moving, asked.to):
        turned = turn_back(asked.actor, moving, reason=asked.reason, is_banning=asked.is_banning)
        if turned is not None:
            return turned
        placement, moving = get_placement(asked.environment, asked.model), None
    if moving is None and (gone := _banned_afterwards(asked, placement)):
        return gone
    target = _target(placement, asked.to)
    ask_about_interface(placement.active, target, asked.confirm)
    ask_about_pins(placement, target, asked.confirm)
    servers, left_out = rollback_reach(placement)
    bad = (moving.to_version if moving else None) or placement.active
    with transaction.atomic():
        rollout = begin(
            asked.actor,
            placement,
            RolloutKind.ROLLBACK,
            servers,
            to=target,
            reason=asked.reason,
            confirm=asked.confirm,
            left_out=[server.name for server in left_out],
            take_over=moving,
        )
        keep_held(asked.actor, placement, reason=asked.reason, now=rollout.created_at)
        if asked.is_banning and bad is not None and not are_same(bad, target):
            ban_version(asked.actor, placement, bad, reason=asked.reason, rollout=rollout, now=rollout.created_at)
    return rollout


def _leads_there(moving: Rollout, to: int | None) -> bool:
    """Whether what moves only has to turn round, or is on its way there already."""
    if moving.kind == RolloutKind.ROLLBACK:
        return to is None or (moving.to_version is not None and moving.to_version.number == to)
    if moving.kind not in (RolloutKind.PROMOTE, RolloutKind.UNLOAD):
        return False
    return to is None or (moving.from_version is not None and moving.from_version.number == to)


def _banned_afterwards(asked: _Asked, placement: Placement) -> Rollout | None:
    """The rollback that has led to the version asked for, without a ban, when it is asked for again with one."""
    if not asked.is_banning or placement.active is None or asked.to != placement.active.number:
        return None
    gone = last_live(placement)
    if gone is None or gone.kind != RolloutKind.ROLLBACK:
        return None
    return gone if ban_afterwards(asked.actor, gone, reason=asked.reason) else None


def _target(placement: Placement, to: int | None) -> Version:
    model, environment = placement.model.name, placement.environment
    target = ready_version(model, to) if to is not None else default_target(placement)
    if target is None:
        raise NothingToRollBackTo(f"{model} in {environment}: {_why_no_target(placement)}")
    if placement.active_id == target.pk:
        raise AlreadyActive(f"{target} is already live in {environment}")
    if not is_proven(target):
        raise NeverLive(f"{target} has never been live anywhere")
    refuse_banned(placement, target)
    return target


def _why_no_target(placement: Placement) -> str:
    made_live = last_live(placement)
    if made_live is not None and made_live.kind == RolloutKind.ROLLBACK:
        told = f"{made_live} by {made_live.actor} has just rolled it back"
        bad, now = left_unbanned(made_live), placement.active
        return f"{told}; to ban {bad} as well, roll back to {now.number}" if bad and now else told
    return "no earlier version was ever live there"
