"""What an environment sets otherwise in a model's configuration: kept for good, and rolled out like any change."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.deployments.errors import OverlayUnchanged
from apps.deployments.models import Overlay, Placement, Rollout
from apps.deployments.selectors import overlays as shown
from apps.deployments.selectors.placements import get_placement
from apps.deployments.services.beginning import begin, lock
from apps.deployments.services.conditions import refuse_if_down, refuse_if_moving, refuse_unknown, require_reason
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
    servers = _servers(environment, skip)
    effect = shown.effect(placement, cleaned)
    with transaction.atomic():
        lock(take_over)
        overlay = _keep(actor, placement, cleaned, reason)
        rollout = begin(
            actor,
            placement,
            RolloutKind.RECONFIGURE,
            servers,
            to=placement.active,
            reason=reason,
            confirm=confirm,
            left_out=sorted(skip),
            take_over=take_over,
            overlay=overlay,
            is_cold=effect is None or bool(effect.restarts),
        )
    return Setting(overlay, rollout)


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
    """Go back to an overlay that was there before: to `number` (0: the version as it was uploaded), else the last."""
    require(actor, "set_overlay", environment)
    placement = get_placement(environment, model)
    document = shown.document_of(placement, shown.previous_number(placement) if number is None else number)
    return set_overlay(
        actor, environment=environment, model=model, document=document, reason=reason, skip=skip, confirm=confirm
    )


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
    Placement.objects.filter(pk=placement.pk, active=None).update(overlay=overlay)
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
