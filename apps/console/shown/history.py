"""What was live at a moment, as people see it."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from apps.common.text import printable
from apps.console.shown.links import link
from apps.console.shown.rollouts import number_of

if TYPE_CHECKING:
    from apps.deployments.models import Overlay, PlacementChange

WHY_CHARS = 300
WHAT = {"done": "", "begun": "on the way", "put_back": "put back", "nothing": "nothing was live yet"}


@dataclass(frozen=True, slots=True)
class Stop:
    """Where the slider stands; each stop is a moment at which something changed, the last one is now."""

    at: int
    last: int


@dataclass(frozen=True, slots=True)
class ThenLine:
    """One environment at a moment, and what is live there now."""

    environment: str
    active: str
    standby: str
    coming: str
    overlay: str
    since: datetime | None
    what: str
    by: str
    why: str
    rollout: int | None
    rollout_url: str
    now: str
    standby_now: str
    overlay_now: str
    differs: bool
    back_url: str
    back_words: str


@dataclass(frozen=True, slots=True)
class Then:
    """A model at a moment; `at` is None while none was asked for."""

    stop: Stop
    at: datetime | None
    lines: tuple[ThenLine, ...]


def then_line(change: "PlacementChange", *, numbers: set[int]) -> ThenLine:
    """One row; `numbers` are the versions it can be rolled back to."""
    placement = change.placement
    url, words = _way_back(change, numbers)
    return ThenLine(
        environment=placement.environment.name,
        active=number_of(change.active),
        standby="" if change.standby is None else number_of(change.standby),
        coming="" if change.coming is None else number_of(change.coming),
        overlay=_overlay(change.overlay),
        since=change.at,
        what=WHAT.get(change.what, change.what),
        by=change.actor,
        why=printable(change.reason, limit=WHY_CHARS),
        rollout=change.rollout_id,
        rollout_url=link("rollout", change.rollout_id) if change.rollout_id else "",
        now=number_of(placement.active),
        standby_now="" if placement.standby is None else number_of(placement.standby),
        overlay_now=_overlay(placement.overlay),
        differs=change.differs,
        back_url=url,
        back_words=words,
    )


def _overlay(overlay: "Overlay | None") -> str:
    return "" if overlay is None else f"overlay {overlay.number}"


def _overlay_back(change: "PlacementChange", where: tuple[str, str]) -> tuple[str, str]:
    """The same version under the configuration of then."""
    if change.active is None:
        return "", ""
    number = change.overlay.number if change.overlay else 0
    return link("restore_overlay", *where, number), f"Back to {_overlay(change.overlay) or 'as uploaded'}…"


def _way_back(change: "PlacementChange", numbers: set[int]) -> tuple[str, str]:
    """The dialog that puts it back, filled in: a rollback where it can be rolled back to, else a promotion."""
    where = (change.placement.model.name, change.placement.environment.name)
    if "active" not in change.differs_in:
        return _overlay_back(change, where) if "overlay" in change.differs_in else ("", "")
    if change.active is None:
        return link("unload", *where), "Unload…"
    number = change.active.number
    if number in numbers:
        return f"{link('roll_back', *where)}?to={number}", f"Roll back to {number}…"
    return f"{link('promote', *where)}?version={number}", f"Promote {number}…"
