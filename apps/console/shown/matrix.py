"""The fleet as people see it: what is moving, and one chip per model and server."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from apps.common.estimate import Estimate
from apps.console.shown.links import link
from apps.console.shown.rollouts import Line, line
from apps.console.shown.servers import STALE_AFTER
from apps.console.shown.state import Chip
from apps.console.shown.words import count
from apps.deployments.selectors import Cell, Row

if TYPE_CHECKING:
    from apps.deployments.models import Rollout
    from apps.fleet.models import Environment
    from apps.fleet.selectors import Glance

DRIFT = {
    "missing": "{version} is not loaded",
    "loading": "{version} is loading",
    "wrong_set": "clients get a wrong version ({version} differs)",
    "failed": "{version} failed",
    "stuck": "{version} is stuck: restart the server",
    "restarted": "{version} has started anew",
    "wrong_config": "{version} runs under another configuration",
    "extra": "{version} is loaded but not wanted",
}
MOST_CHIPS = 12
NAMED = 6
# Models on a page: fewer where there are many servers, so that the page stays quick.
MOST_ROWS, FEWEST_ROWS, CELLS = 50, 5, 5_000
TROUBLE = {"bad": 0, "stale": 1, "busy": 2}


@dataclass(frozen=True, slots=True)
class Column:
    """An environment and its servers, in the order of the chips; many are counted only."""

    name: str
    servers: tuple[str, ...]
    counted: int


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model: its chips per environment, and where its numbers come from."""

    name: str
    url: str
    cells: tuple[tuple[Chip, ...], ...]
    slo_p99_ms: float | None
    slo_error_percent: float | None


@dataclass(frozen=True, slots=True)
class Fleet:
    """The whole page's content."""

    moving: tuple[Line, ...]
    columns: tuple[Column, ...]
    rows: tuple[ModelRow, ...]
    summary: str
    tone: str
    has_servers: bool
    changes: tuple[Line, ...] = ()
    ended: str = ""


def fleet(
    *,
    rows: Sequence[Row],
    environments: Sequence["Environment"],
    servers: Sequence["Glance"],
    moving: Iterable["Rollout"],
    left: Mapping[int, Estimate],
    last: Iterable["Rollout"],
    now: datetime,
) -> Fleet:
    """The matrix, said in words too; `last` are the rollouts that ended last, newest first."""
    rows = as_seen(rows, servers, now)
    shown = tuple(_row(row, environments) for row in rows)
    lines = tuple(line(rollout, left.get(rollout.pk)) for rollout in moving)
    changes = _changes(last)
    summary, tone = _summary(rows, servers, len(lines))
    return Fleet(
        moving=lines,
        columns=_columns(environments, servers),
        rows=shown,
        summary=summary,
        tone=tone,
        has_servers=bool(servers),
        changes=changes,
        ended=changes[0].sentence if changes else "",
    )


def _changes(last: Iterable["Rollout"]) -> tuple[Line, ...]:
    """One line each; the way back stands beside the change that made what is live, once."""
    seen: set[int] = set()
    lines = []
    for rollout in last:
        shown = line(rollout)
        lines.append(replace(shown, back_url="") if rollout.placement_id in seen else shown)
        if shown.chip.tone == "ok":
            seen.add(rollout.placement_id)
    return tuple(lines)


def as_seen(rows: Sequence[Row], servers: Iterable["Glance"], now: datetime) -> Sequence[Row]:
    """The rows with the cells of those servers that nobody has asked lately called `unseen`."""
    stale = {one.pk for one in servers if one.seen_at is None or now - one.seen_at > STALE_AFTER}
    return [_without(row, stale) for row in rows] if stale else rows


def _without(row: Row, stale: Set[int]) -> Row:
    def told(cell: Cell) -> Cell:
        is_told = cell.state in ("serving", "drift") and cell.server.pk in stale
        return replace(cell, state="unseen") if is_told else cell

    return replace(row, cells={name: [told(cell) for cell in cells] for name, cells in row.cells.items()})


def _columns(environments: Sequence["Environment"], servers: Sequence["Glance"]) -> tuple[Column, ...]:
    found = []
    for environment in environments:
        names = [server.name for server in servers if server.environment_id == environment.pk]
        is_named = len(names) <= MOST_CHIPS
        found.append(Column(environment.name, tuple(names) if is_named else (), 0 if is_named else len(names)))
    return tuple(found)


def _row(row: Row, environments: Sequence["Environment"]) -> ModelRow:
    cells = tuple(cell_chips(row.cells.get(environment.name, ())) for environment in environments)
    model = row.model
    url = link("model", model.name)
    percent = None if model.slo_error_ratio is None else model.slo_error_ratio * 100
    return ModelRow(model.name, url, cells, model.slo_p99_ms, percent)


def rows_on_page(servers: int) -> int:
    """How many models a page shows, so that it has about as many cells in a large fleet as in a middling one."""
    return max(FEWEST_ROWS, min(MOST_ROWS, CELLS // max(servers, 1)))


def cell_chips(cells: Sequence[Cell]) -> tuple[Chip, ...]:
    """One chip for each server; where there are many, those that are alike are counted, the odd ones first."""
    meant = [cell for cell in cells if cell.state != "absent"]
    if len(meant) <= MOST_CHIPS:
        return tuple(chip for cell in meant if (chip := cell_chip(cell)) is not None)
    alike: dict[tuple[str, str], list[Cell]] = {}
    for same in _alike(meant):
        chip = cell_chip(same[0])
        if chip is not None:
            alike.setdefault((chip.label, chip.tone), []).extend(same)
    groups = sorted(alike.items(), key=lambda group: TROUBLE.get(group[0][1], len(TROUBLE)))
    return tuple(_counted(group) for _, group in groups)


def _alike(cells: Sequence[Cell]) -> Iterable[list[Cell]]:
    """Cells that differ in nothing but their server: of a thousand, only a few chips have to be made."""
    groups: dict[object, list[Cell]] = {}
    for cell in cells:
        key = (cell.state, cell.active, cell.standby, cell.going_to, cell.differences)
        groups.setdefault(key, []).append(cell)
    return groups.values()


def _counted(group: Sequence[Cell]) -> Chip:
    named = [chip for cell in group[:NAMED] if (chip := cell_chip(cell)) is not None]
    first = named[0]
    if len(group) == 1:
        return first
    says = "; ".join(one.says for one in named) + (f"; and {len(group) - NAMED} more" * (len(group) > NAMED))
    return Chip(f"{first.label} ×{len(group)}", first.tone, says, link("servers"))


def cell_chip(cell: Cell) -> Chip | None:
    """One model on one server; None where it is not meant to be."""
    name = cell.server.name
    url = link("server", name)
    active = "–" if cell.active is None else str(cell.active)
    if cell.state == "absent":
        return None
    if cell.state == "changing":
        to = "–" if cell.going_to is None else str(cell.going_to)
        if to == active:
            return Chip(f"{active}>", "busy", f"{name}: {active} is being loaded again", url)
        return Chip(f"{active}>{to}", "busy", f"{name}: changing from {active} to {to}", url)
    label = active if cell.standby is None else f"{active}+{cell.standby}"
    if cell.state == "unseen":
        return Chip(f"{label}?", "stale", f"{name}: not seen lately, should serve {active}", url)
    if cell.state == "drift":
        return _drift_chip(cell, label, url)
    says = f"{name}: serving {active}" + ("" if cell.standby is None else f", {cell.standby} kept hot")
    return Chip(label, "ok" if cell.standby is None else "warm", says, url)


def _drift_chip(cell: Cell, label: str, url: str) -> Chip:
    words = [DRIFT.get(one.kind, one.kind).format(version=one.version) for one in cell.differences]
    if all(one.kind == "loading" for one in cell.differences):
        return Chip(f"{label}>", "busy", f"{cell.server.name}: {'; '.join(words)}", url)
    return Chip(f"{label}!", "bad", f"{cell.server.name}: {'; '.join(words)}", url)


def _summary(rows: Sequence[Row], servers: Sequence["Glance"], moving: int) -> tuple[str, str]:
    seen = [(cells, row) for row in rows for cells in row.cells.values() if cells]
    astray = {row.model.pk for cells, row in seen for cell in cells if cell.state == "drift"}
    unseen = {cell.server.pk for cells, _ in seen for cell in cells if cell.state == "unseen"}
    parts = [count(len(servers), "server")]
    if moving:
        parts.append(f"{count(moving, 'rollout')} moving")
    if astray:
        parts.append(f"{count(len(astray), 'model')} not as desired")
    if unseen:
        parts.append(f"{count(len(unseen), 'server')} not seen")
    if seen and not astray and not unseen:
        parts.append("everything as desired")
    tone = "bad" if astray else "wait" if unseen else "ok"
    return ", ".join(parts), tone
