"""The fleet as people see it: what is moving, and one chip per model and server."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from apps.common.text import SHOWN_CHARS, printable
from apps.console.shown.links import link
from apps.console.shown.rollouts import Line, line
from apps.console.shown.servers import STALE_AFTER
from apps.console.shown.state import Chip
from apps.deployments.selectors import Cell, Row

if TYPE_CHECKING:
    from apps.deployments.models import Rollout
    from apps.fleet.models import Environment, Part, Server

DRIFT = {
    "missing": "{version} is not loaded",
    "loading": "{version} is loading",
    "failed": "{version} failed",
    "extra": "{version} is loaded but not wanted",
}


@dataclass(frozen=True, slots=True)
class Column:
    """An environment and its servers, in the order of the chips."""

    name: str
    servers: tuple[str, ...]
    hidden: int


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
    unwell: tuple[tuple[str, str], ...] = ()
    ended: str = ""


def fleet(
    *,
    rows: Sequence[Row],
    environments: Sequence["Environment"],
    servers: Sequence["Server"],
    moving: Iterable["Rollout"],
    last: "Rollout | None",
    parts: Iterable["Part"],
    now: datetime,
) -> Fleet:
    """The matrix, said in words too."""
    rows = [as_seen(row, now) for row in rows]
    shown = tuple(_row(row, environments) for row in rows)
    lines = tuple(line(rollout) for rollout in moving)
    summary, tone = _summary(rows, servers, len(lines))
    return Fleet(
        moving=lines,
        columns=_columns(environments, servers),
        rows=shown,
        summary=summary,
        tone=tone,
        has_servers=bool(servers),
        unwell=tuple((part.name, printable(part.message, limit=SHOWN_CHARS)) for part in parts if not part.is_well),
        ended=line(last).sentence if last else "",
    )


def as_seen(row: Row, now: datetime) -> Row:
    """The row with the cells of servers that nobody has asked lately called `unseen`."""
    cells = {
        name: [replace(cell, state="unseen") if _is_stale(cell, now) else cell for cell in row.cells[name]]
        for name in row.cells
    }
    return replace(row, cells=cells)


def _is_stale(cell: Cell, now: datetime) -> bool:
    observation = getattr(cell.server, "observation", None)
    if cell.state not in ("serving", "drift") or observation is None:
        return False
    return observation.seen_at is None or now - observation.seen_at > STALE_AFTER


def _columns(environments: Sequence["Environment"], servers: Sequence["Server"]) -> tuple[Column, ...]:
    found = []
    for environment in environments:
        names = [server.name for server in servers if server.environment_id == environment.pk]
        found.append(Column(environment.name, tuple(names[:8]), max(0, len(names) - 8)))
    return tuple(found)


def _row(row: Row, environments: Sequence["Environment"]) -> ModelRow:
    cells = tuple(
        tuple(chip for cell in row.cells.get(environment.name, ()) if (chip := cell_chip(cell)) is not None)
        for environment in environments
    )
    model = row.model
    url = link("model", model.name)
    percent = None if model.slo_error_ratio is None else model.slo_error_ratio * 100
    return ModelRow(model.name, url, cells, model.slo_p99_ms, percent)


def cell_chip(cell: Cell) -> Chip | None:
    """One model on one server; None where it is not meant to be."""
    name = cell.server.name
    url = link("server", name)
    active = "–" if cell.active is None else str(cell.active)
    if cell.state == "absent":
        return None
    if cell.state == "changing":
        to = "–" if cell.going_to is None else str(cell.going_to)
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


def _summary(rows: Sequence[Row], servers: Sequence["Server"], moving: int) -> tuple[str, str]:
    states = [cell.state for row in rows for cells in row.cells.values() for cell in cells]
    counts: Mapping[str, int] = {state: states.count(state) for state in ("drift", "unseen")}
    parts = [f"{len(servers)} server{'' if len(servers) == 1 else 's'}"]
    if moving:
        parts.append(f"{moving} rollout{'' if moving == 1 else 's'} moving")
    if counts["drift"]:
        parts.append(f"{counts['drift']} not as desired")
    if counts["unseen"]:
        parts.append(f"{counts['unseen']} not seen")
    if not counts["drift"] and not counts["unseen"] and states:
        parts.append("everything as desired")
    tone = "bad" if counts["drift"] else "wait" if counts["unseen"] else "ok"
    return ", ".join(parts), tone
