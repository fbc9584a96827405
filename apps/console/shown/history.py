"""What was live at a moment, as people see it."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from apps.common.text import printable
from apps.console.shown.links import link
from apps.console.shown.rollouts import number_of

if TYPE_CHECKING:
    from apps.deployments.models import PlacementChange

WHY_CHARS = 300
WHAT = {"done": "", "begun": "on the way", "put_back": "put back"}


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
    since: datetime
    what: str
    by: str
    why: str
    rollout: int
    rollout_url: str
    now: str
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
        since=change.at,
        what=WHAT.get(change.what, change.what),
        by=change.actor,
        why=printable(change.reason, limit=WHY_CHARS),
        rollout=change.rollout_id,
        rollout_url=link("rollout", change.rollout_id),
        now=number_of(placement.active),
        differs=change.differs,
        back_url=url,
        back_words=words,
    )


def _way_back(change: "PlacementChange", numbers: set[int]) -> tuple[str, str]:
    """The dialog that puts it back, filled in: a rollback where it can be rolled back to, else a promotion."""
    where = (change.placement.model.name, change.placement.environment.name)
    if not change.differs:
        return "", ""
    if change.active is None:
        return link("unload", *where), "Unload…"
    number = change.active.number
    if number in numbers:
        return f"{link('roll_back', *where)}?to={number}", f"Roll back to {number}…"
    return f"{link('promote', *where)}?version={number}", f"Promote {number}…"
