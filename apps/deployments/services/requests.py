"""What people, CI and the clock ask for: every change of desired state but going back begins here."""

from collections.abc import Collection

from django.db import transaction
from django.utils import timezone

from apps.access.services import require
from apps.common.actor import CLOCK, Actor
from apps.deployments.errors import NothingPlaced, PlacementChanged, RolloutActive
from apps.deployments.models import Placement, Release, Rollout
from apps.deployments.selectors.placements import get_placement, placements
from apps.deployments.selectors.policies import policy_of
from apps.deployments.selectors.rollouts import active_rollout
from apps.deployments.services.beginning import begin
from apps.deployments.services.conditions import (
    ready_version,
    refuse_if_moving,
    require_reason,
)
from apps.deployments.services.ensembles import needs_standby, refuse_unload_of_member
from apps.deployments.services.holds import ask_about_hold, let_go
from apps.deployments.services.obstacles import promotion_checks
from apps.deployments.states import RolloutKind
from apps.fleet import selectors as fleet
from apps.fleet.models import Server


def promote(
    actor: Actor,
    *,
    environment: str,
    model: str,
    version: int,
    reason: str = "",
    confirm: Collection[str] = (),
    skip: Collection[str] = (),
    release: Release | None = None,
) -> Rollout:
    """Bring a version live on every server of an environment, in the waves of its policy; or as part of a release."""
    require(actor, "promote", environment)
    home = fleet.get_environment(environment)
    wanted = ready_version(model, version)
    placed = placements(environment=environment, model=model).defer(None).first()
    take_over = None
    if placed is not None:
        take_over = refuse_if_moving(placed)
    every, policy, now = _servers(environment), policy_of(home), timezone.now()
    coming = release.items if release else {}
    for check in promotion_checks(
        placed, wanted, policy, environment=environment, every=every, confirm=confirm, skip=skip, now=now, coming=coming
    ):
        check()
    servers = [server for server in every if server.name not in skip]
    placement = placed or Placement.objects.get_or_create(environment=home, model=wanted.model)[0]
    with transaction.atomic():
        rollout = begin(
            actor,
            placement,
            RolloutKind.PROMOTE,
            servers,
            to=wanted,
            reason=reason,
            confirm=confirm,
            left_out=sorted(skip),
            take_over=take_over,
            release=release,
        )
        let_go(actor, placement, reason=f"{rollout}: {reason}".rstrip(": "))
    return rollout


def unload(actor: Actor, *, environment: str, model: str, reason: str, confirm: Collection[str] = ()) -> Rollout:
    """Take a model off every server of an environment."""
    require(actor, "unload", environment)
    require_reason(reason, f"unloading {model} in {environment}")
    placement = get_placement(environment, model)
    take_over = refuse_if_moving(placement)
    if placement.active is None:
        raise NothingPlaced(f"no version of {model} is live in {environment}")
    refuse_unload_of_member(placement)
    ask_about_hold(placement, confirm)
    servers = _servers(environment)
    with transaction.atomic():
        rollout = begin(
            actor,
            placement,
            RolloutKind.UNLOAD,
            servers,
            to=None,
            reason=reason,
            confirm=confirm,
            take_over=take_over,
        )
        let_go(actor, placement, reason=f"{rollout}: {reason}")
    return rollout


def retire_standby(placement: Placement) -> Rollout | None:
    """Let go of a standby whose window is over; None when the placement is moving or has changed."""
    servers = [server for server in _servers(placement.environment.name) if fleet.is_reachable(server)]
    if placement.active is None or active_rollout(placement) or not servers or needs_standby(placement):
        return None
    try:
        return begin(
            CLOCK,
            placement,
            RolloutKind.RETIRE,
            servers,
            to=placement.active,
            reason=f"the standby window of version {placement.standby and placement.standby.number} is over",
            confirm=(),
        )
    except (RolloutActive, PlacementChanged):
        return None


def _servers(environment: str) -> list[Server]:
    return list(fleet.servers_for_rollouts(environment))
