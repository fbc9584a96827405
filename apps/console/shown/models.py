"""Models as people see them: a line in a list, and one card per environment."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from apps.common.text import printable
from apps.console.shown.links import link
from apps.console.shown.matrix import cell_chips
from apps.console.shown.rollouts import Line, line
from apps.console.shown.state import Chip
from apps.deployments.selectors import Cell, Row, Target

if TYPE_CHECKING:
    from apps.deployments.models import Placement, Rollout
    from apps.fleet.models import Environment
    from apps.registry.models import Model, Version

WHY_CHARS = 300
HOT_WORDS = "hot: instant"


@dataclass(frozen=True, slots=True)
class ModelLine:
    """One model in a list."""

    name: str
    url: str
    owner: str
    description: str
    tags: tuple[str, ...]
    live: tuple[Chip, ...]
    slo: str


@dataclass(frozen=True, slots=True)
class WayBack:
    """The version a rollback goes to, and how quickly, in words."""

    number: int
    speed: str
    is_hot: bool
    url: str


@dataclass(frozen=True, slots=True)
class Held:
    """Who keeps what is live from moving, and why."""

    by: str
    at: datetime | None
    why: str
    url: str


@dataclass(frozen=True, slots=True)
class Card:
    """One environment of a model: what is live, what is kept hot, how it is, and the buttons."""

    environment: str
    active: str
    active_url: str
    since: datetime | None
    standby: str
    standby_until: datetime | None
    servers: int
    chips: tuple[Chip, ...]
    tone: str
    verdict: str
    moving: Line | None
    way_back: WayBack | None
    held: Held | None
    hold_url: str
    back_url: str
    promote_url: str
    unload_url: str
    warmup_url: str
    warmup: str
    warmup_next_at: datetime | None
    overlay: str
    overlay_url: str


def slo_of(model: "Model") -> str:
    """The promise, in words; empty when there is none."""
    parts = []
    if model.slo_p99_ms is not None:
        parts.append(f"p99 ≤ {model.slo_p99_ms:g} ms")
    if model.slo_error_ratio is not None:
        parts.append(f"errors ≤ {model.slo_error_ratio * 100:g} %")
    return ", ".join(parts)


def model_lines(models: Iterable["Model"], placements: Iterable["Placement"]) -> tuple[ModelLine, ...]:
    """Lines of a list, each with where it is live."""
    live: dict[int, list[Chip]] = {}
    for placement in placements:
        if placement.active is not None:
            label = f"{placement.environment.name} {placement.active.number}"
            says = f"{placement.active.number} is live in {placement.environment.name}"
            live.setdefault(placement.model_id, []).append(Chip(label, "ok", says))
    return tuple(
        ModelLine(
            name=model.name,
            url=link("model", model.name),
            owner=model.owner,
            description=model.description,
            tags=tuple(map(str, model.tags)),
            live=tuple(live.get(model.pk, ())),
            slo=slo_of(model),
        )
        for model in models
    )


def cards(
    row: Row,
    environments: Sequence["Environment"],
    *,
    placements: Mapping[str, "Placement"],
    moving: Iterable["Rollout"],
    last: Mapping[int, "Rollout"],
    targets: Mapping[int, Sequence[Target]],
) -> tuple[Card, ...]:
    """One card per environment, left to right; `last` and `targets` are keyed by placement."""
    moves = {rollout.placement.environment.name: rollout for rollout in moving}
    shown = []
    for name in (environment.name for environment in environments):
        placement = placements.get(name)
        key = placement.pk if placement else 0
        shown.append(
            _card(row, name, placement, moving=moves.get(name), last=last.get(key), targets=targets.get(key, ()))
        )
    return tuple(shown)


def _card(
    row: Row,
    name: str,
    placement: "Placement | None",
    *,
    moving: "Rollout | None",
    last: "Rollout | None",
    targets: Sequence[Target],
) -> Card:
    model, cells = row.model.name, row.cells.get(name, ())
    active, standby = (placement.active, placement.standby) if placement else (None, None)
    tone, verdict = _verdict(cells, active, moving, last)
    every, next_at = _warmup(placement)
    return Card(
        environment=name,
        active="–" if active is None else str(active.number),
        active_url=link("version", model, active.number) if active else "",
        since=placement.since if placement and active else None,
        standby="" if standby is None else str(standby.number),
        standby_until=placement.standby_until if placement and standby else None,
        servers=len(cells),
        chips=cell_chips(cells),
        tone=tone,
        verdict=verdict,
        moving=line(moving) if moving else None,
        way_back=_way_back(model, name, targets[0]) if targets else None,
        held=_held(placement) if placement else None,
        hold_url=link("hold", model, name) if active else "",
        back_url=link("roll_back", model, name) if moving and placement else "",
        promote_url=link("promote", model, name),
        unload_url=link("unload", model, name) if active else "",
        warmup_url=link("warm_up", model, name) if active else "",
        warmup=every,
        warmup_next_at=next_at,
        overlay="" if placement is None or placement.overlay is None else f"overlay {placement.overlay.number}",
        overlay_url=link("overlay", model, name),
    )


def _way_back(model: str, environment: str, target: Target) -> WayBack:
    url = link("roll_back", model, environment)
    return WayBack(target.version.number, speed_of(target), target.is_hot, url)


def _held(placement: "Placement") -> Held | None:
    if placement.held_at is None:
        return None
    url = link("unhold", placement.model.name, placement.environment.name)
    return Held(placement.held_by, placement.held_at, printable(placement.hold_reason, limit=WHY_CHARS), url)


def speed_of(target: Target) -> str:
    """How quickly a rollback to it goes: `hot: instant`, `cold: about 40 s`."""
    if target.is_hot:
        return HOT_WORDS
    return f"cold: about {max(1, round(target.expected_s))} s" if target.expected_s else "cold: must be loaded first"


def _warmup(placement: "Placement | None") -> tuple[str, datetime | None]:
    schedule = getattr(placement, "warmup_schedule", None)
    if schedule is None or not schedule.is_enabled:
        return "", None
    return f"every {schedule.every_s / 60:g} min", schedule.next_at


def _verdict(
    cells: Sequence[Cell], active: "Version | None", moving: "Rollout | None", last: "Rollout | None"
) -> tuple[str, str]:
    """The card's tone and its one sentence: what is worst comes first."""
    if moving is not None:
        return "busy", f"rollout {moving.pk} is moving"
    if active is None:
        return "mute", "nothing is live here"
    for state, tone, words in (("drift", "bad", "not as desired"), ("unseen", "wait", "not seen")):
        count = sum(cell.state == state for cell in cells)
        if count:
            return tone, f"! {count} of {len(cells)} servers {words}"
    if last is not None and last.state in ("rolled_back", "failed"):
        return "wait", f"the last rollout {last.state.replace('_', ' ')}; version {active.number} serves on"
    return "ok", "as desired on every server"
