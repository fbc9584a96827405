"""Overlays as people see them: lines of a difference, and every overlay there was."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from apps.common.text import SHOWN_CHARS, printable
from apps.console.shown.links import link

if TYPE_CHECKING:
    from apps.deployments.models import Overlay, Placement

# Unchanged lines around a change that are shown.
AROUND = 3


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a difference: its sign ('+', '-', ' '), its words, and its tone."""

    sign: str
    text: str
    tone: str


@dataclass(frozen=True, slots=True)
class OverlayLine:
    """One overlay of a placement."""

    number: int
    lines: tuple[str, ...]
    reason: str
    created_at: datetime
    created_by: str
    is_current: bool
    restore_url: str


def diff_lines(marked: Iterable[str]) -> tuple[DiffLine, ...]:
    """Lines that begin with their sign, those far from any change left out."""
    lines = [printable(line, limit=SHOWN_CHARS) for line in marked]
    near = {at + step for at, line in enumerate(lines) if line[:1] in "+-" for step in range(-AROUND, AROUND + 1)}
    tones = {"+": "tone-ok", "-": "tone-bad"}
    shown: list[DiffLine] = []
    for at, line in enumerate(lines):
        if at in near:
            shown.append(DiffLine(line[:1], line[2:], tones.get(line[:1], "soft")))
        elif shown and shown[-1].text != "…":
            shown.append(DiffLine(" ", "…", "soft"))
    return tuple(shown)


def overlay_lines(
    placement: "Placement", overlays: Iterable["Overlay"], *, write: Callable[[Mapping[str, Any]], list[str]]
) -> tuple[OverlayLine, ...]:
    """Newest first, with the way back to each but the one in effect; last, the version as it was uploaded."""
    model, environment = placement.model.name, placement.environment.name
    found = [
        OverlayLine(
            number=overlay.number,
            lines=tuple(printable(line, limit=SHOWN_CHARS) for line in write(overlay.document)),
            reason=printable(overlay.reason, limit=SHOWN_CHARS),
            created_at=overlay.created_at,
            created_by=overlay.created_by,
            is_current=overlay.pk == placement.overlay_id,
            restore_url=link("restore_overlay", model, environment, overlay.number),
        )
        for overlay in overlays
    ]
    return tuple(found)
