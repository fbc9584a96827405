"""What an environment sets otherwise in a model's configuration: kept for good, and rolled out like any change."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.deployments.errors import OverlayUnchanged, PlacementChanged
from apps.deployments.models import Overlay, Placement, Rollout
from apps.deployments.selectors import overlays as shown
from apps.deployments.selectors.placements import get_placement
from apps.deployments.selectors.policies import policy_of
from apps.deployments.selectors.targets import rollback_reach
from apps.deployments.services.beginning import begin, lock
from apps.deployments.services.conditions import (
    refuse_frozen,
    refuse_if_down,
    refuse_if_moving,
    refuse_unknown,
    require_reason,
)
from apps.deployments.services.holds import HOLD, refuse_held
from apps.deployments.states import RolloutKind
from apps.fleet import selectors as fleet
from apps.fleet.models import Server
from apps.registry import selectors as registry
from apps.serving import backends


@dataclass(frozen=True, slots=True)
class Setting:
    """A new overlay, and the rollout that brings it; None where nothing is live yet to be changed."""

    overlay: Overlay
    rollout: Rollout | None


def set_overlay(
    actor: Actor,
    *,
    environment: str,
    model: str,
    document: Mapping[str, Any],
    reason: str,
    skip: Collection[str] = (),
    confirm: Collection[str] = (),
) -> Setting:
    """Run a model in one environment under another configuration; the version stays.

    Where nothing is live the overlay waits for the next promotion.
    """
    require(actor, "set_overlay", environment)
    require_reason(reason, f"changing the configuration of {model} in {environment}")
    cleaned = backends.get("triton").CONFIG.clean_overlay(document)
    home, owner = fleet.get_environment(environment), registry.get_model(model)
    Placement.objects.get_or_create(environment=home, model=owner)
    placement = get_placement(environment, model)
    take_over = refuse_if_moving(placement)
    if HOLD not in confirm:
        refuse_held(placement)
    _refuse_if_same(placement, cleaned)
    if placement.active is None:
        return Setting(_keep_waiting(actor, placement, cleaned, reason), None)
    backends.get("triton").CONFIG.check_fit(placement.active.config, cleaned)
    refuse_frozen(policy_of(home), environment, now=timezone.now())
    change = _Change(actor, placement, cleaned, reason, confirm, take_over)
    return _roll_out(change, _servers(environment, skip), left_out=skip)


def restore_overlay(
    actor: Actor,
    *,
    environment: str,
    model: str,
    number: int | None = None,
    reason: str,
    skip: Collection[str] = (),
    confirm: Collection[str] = (),
) -> Setting:
    """Go back to an overlay that was there before: to `number` (0: the version as it was uploaded), else the last.

    As a rollback goes: on all servers at once, unapproved, in a freeze too; a hold stays. A server that cannot be
    reached is left out and named in the plan: once it answers it is drift (`wrong_config`), and healed.
    """
    require(actor, "set_overlay", environment)
    require_reason(reason, f"putting back the configuration of {model} in {environment}")
    placement = get_placement(environment, model)
    document = shown.document_of(placement, shown.previous_number(placement) if number is None else number)
    take_over = refuse_if_moving(placement)
    _refuse_if_same(placement, document)
    if placement.active is None:
        return Setting(_keep_waiting(actor, placement, document, reason), None)
    backends.get("triton").CONFIG.check_fit(placement.active.config, document)
    reached, left_out = rollback_reach(placement)
    refuse_unknown(skip, [*reached, *left_out], environment)
    change = _Change(actor, placement, document, reason, confirm, take_over, is_going_back=True)
    servers = [server for server in reached if server.name not in skip]
    return _roll_out(change, servers, left_out={*skip, *(server.name for server in left_out)})


@dataclass(frozen=True, slots=True)
class _Change:
    """One change of overlay that may begin."""

    actor: Actor
    placement: Placement
    document: Mapping[str, Any]
    reason: str
    confirm: Collection[str]
    take_over: Rollout | None
    is_going_back: bool = False


def _roll_out(change: _Change, servers: list[Server], *, left_out: Collection[str]) -> Setting:
    placement = change.placement
    effect = shown.effect(placement, change.document)
    with transaction.atomic():
        lock(change.take_over)
        overlay = _keep(change.actor, placement, change.document, change.reason)
        rollout = begin(
            change.actor,
            placement,
            RolloutKind.RECONFIGURE,
            servers,
            to=placement.active,
            reason=change.reason,
            confirm=change.confirm,
            left_out=sorted(left_out),
            take_over=change.take_over,
            overlay=overlay,
            is_cold=effect is None or bool(effect.restarts),
            is_going_back=change.is_going_back,
        )
    return Setting(overlay, rollout)


def _servers(environment: str, skip: Collection[str]) -> list[Server]:
    every = list(fleet.servers_for_rollouts(environment))
    refuse_unknown(skip, every, environment)
    wanted = [server for server in every if server.name not in skip]
    refuse_if_down(wanted, environment)
    return wanted


def _refuse_if_same(placement: Placement, document: Mapping[str, Any]) -> None:
    if document == (placement.overlay.document if placement.overlay else {}):
        raise OverlayUnchanged(f"{placement} is configured so already")


def _keep(actor: Actor, placement: Placement, document: Mapping[str, Any], reason: str) -> Overlay:
    """One more row; the placement's lock makes its number the next."""
    Placement.objects.select_for_update().get(pk=placement.pk)
    highest = Overlay.objects.filter(placement=placement).aggregate(highest=Max("number"))["highest"] or 0
    return Overlay.objects.create(
        placement=placement, number=highest + 1, document=dict(document), reason=reason, created_by=actor.name
    )


@transaction.atomic
def _keep_waiting(actor: Actor, placement: Placement, document: Mapping[str, Any], reason: str) -> Overlay:
    overlay = _keep(actor, placement, document, reason)
    # Whatever begins or ends holds the placement, as we do now: a version may have begun to come, or have come.
    refuse_if_moving(placement)
    if not Placement.objects.filter(pk=placement.pk, active=None).update(overlay=overlay):
        raise PlacementChanged(f"{placement}: another rollout has ended just now", placement=str(placement))
    record(
        actor,
        "set_overlay",
        subject_kind="placement",
        subject=str(placement),
        environment=placement.environment.name,
        model=placement.model.name,
        reason=reason,
        overlay=overlay.number,
        document=overlay.document,
    )
    return overlay
