"""Overlays, read: what an environment sets otherwise, what that makes of the configuration, and what a change costs."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from apps.deployments.errors import OverlayUnknown
from apps.deployments.models import Overlay, Placement, Rollout
from apps.deployments.plan import config_digest
from apps.deployments.selectors.warmups import proven_warmups
from apps.deployments.states import RolloutKind, RolloutState
from apps.serving import backends


@dataclass(frozen=True, slots=True)
class Effect:
    """A configuration with an overlay: as text, its differences, and what going there from what runs now costs.

    `restarts` is None where nothing is live. `changes` compare with what runs now, `overlaid` with the upload; lines
    begin with '+', '-' or a space.
    """

    text: str
    overlaid: tuple[str, ...]
    changes: tuple[str, ...]
    restarts: bool | None


def overlay_history(placement: Placement) -> QuerySet[Overlay]:
    """Every overlay the placement ever had, newest first."""
    return Overlay.objects.filter(placement=placement).order_by("-number")


def document_by_digest(placement: Placement, digest: str) -> dict[str, Any] | None:
    """The overlay that a server was told of by its digest; None where the placement never had it."""
    documents = ({}, *overlay_history(placement).values_list("document", flat=True))
    return next((document for document in documents if config_digest(document) == digest), None)


def document_of(placement: Placement, number: int) -> dict[str, Any]:
    """The overlay of that number as it was; 0 is none at all, any other unknown one is OverlayUnknown."""
    if number == 0:
        return {}
    found = overlay_history(placement).filter(number=number).first()
    if found is None:
        raise OverlayUnknown(f"{placement} never had an overlay {number}", field="restore")
    return dict(found.document)


def previous_number(placement: Placement) -> int:
    """The overlay in effect before the present one; 0 when there was none."""
    brought = Rollout.objects.filter(
        placement=placement,
        kind=RolloutKind.RECONFIGURE,
        state=RolloutState.SUCCEEDED,
        to_overlay=placement.overlay,
    ).select_related("from_overlay")
    last = brought.order_by("-pk").first()
    return last.from_overlay.number if last is not None and last.from_overlay is not None else 0


def effect(placement: Placement, document: Mapping[str, Any]) -> Effect | None:
    """What the overlay makes of the version that is live (or goes live next); None where there is no version."""
    version = placement.active
    if version is None:
        return None
    config_format = backends.get("triton").CONFIG
    current = config_format.merge(version.config, placement.overlay.document if placement.overlay else {})
    config_format.check_fit(version.config, config_format.clean_overlay(document))
    wanted = config_format.merge(version.config, document)
    warmup = proven_warmups({version.pk}).get(version.pk, [])
    one, other = (
        config_format.effective(config, name="same", versions=[1], warmup=warmup) for config in (current, wanted)
    )
    uploaded, now, then = (config_format.render(config) for config in (version.config, current, wanted))
    return Effect(
        text=then,
        overlaid=_difference(uploaded, then),
        changes=_difference(now, then),
        restarts=not config_format.can_stand_beside(one, other),
    )


def _difference(one: str, other: str) -> tuple[str, ...]:
    """Every line, marked; empty when they are the same. Both texts are canonical: layout is no difference."""
    if one == other:
        return ()
    lines = difflib.ndiff(one.splitlines(), other.splitlines())
    return tuple(line[0] + " " + line[2:] for line in lines if line[0] != "?")
