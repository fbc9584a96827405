"""Rollouts as people see them: a line in a list, and the grid of servers and steps."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from apps.common.estimate import Estimate
from apps.common.text import printable
from apps.console.shown.gates import GateLine, gate_words
from apps.console.shown.links import link
from apps.console.shown.planned import planned
from apps.console.shown.spread import Spread, number_in, part_name, spread
from apps.console.shown.state import KINDS, ROLLOUT, RUN, STEP, Chip, Problem, chip, problem
from apps.console.shown.steps import said
from apps.console.shown.waves import Control, controls, stands, wave_words
from apps.deployments.selectors import RunCount, has_ended

if TYPE_CHECKING:
    from apps.deployments.models import Rollout, Run, StepRun
    from apps.registry.models import Version

SAID_CHARS = 200
# Servers on a page of the grid.
ROWS = 50
CAN_ABORT = ("unapproved", "queued", "running", "paused")
CAN_PAUSE = ("queued", "running")


@dataclass(frozen=True, slots=True)
class Line:
    """One rollout in a list."""

    number: int
    url: str
    model: str
    model_url: str
    environment: str
    kind: str
    change: str
    chip: Chip
    actor: str
    reason: str
    began_at: datetime
    seconds: float | None
    sentence: str
    done: int = 0
    total: int = 0
    abort_url: str = ""
    pause_url: str = ""
    back_url: str = ""
    problem: Problem | None = None
    wave: str = ""
    gate: str = ""
    left: Estimate | None = None


@dataclass(frozen=True, slots=True)
class StepCell:
    """One step on one server: its state, how long it took, what it said."""

    chip: Chip
    seconds: float | None
    began_at: datetime | None
    is_running: bool
    said: str
    problem: Problem | None
    calls: int


@dataclass(frozen=True, slots=True)
class ServerRun:
    """One server's row in the grid."""

    key: int
    server: str
    url: str
    part: str
    chip: Chip
    waiting_for: str
    cells: tuple[StepCell | None, ...]
    problem: Problem | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Detail:
    """A rollout's whole page."""

    line: Line
    steps: tuple[str, ...]
    runs: tuple[ServerRun, ...]
    spread: tuple[Spread, ...]
    total: int
    problem: Problem | None
    plan: tuple[str, ...]
    restored: str
    approved: str
    turned: str
    gates: tuple[GateLine, ...]
    controls: tuple[Control, ...]
    stands: str
    finished_at: datetime | None
    is_moving: bool
    ended: str
    left: Estimate


def number_of(version: "Version | None") -> str:
    """The version's number, a dash for none."""
    return "–" if version is None else str(version.number)


def line(rollout: "Rollout", left: Estimate | None = None) -> Line:
    """One rollout in a list; its progress where `with_progress` tells it, and when it is through."""
    placement, is_moving = rollout.placement, not has_ended(rollout.state)
    change = _change(rollout)
    shown = chip(ROLLOUT, rollout.state)
    done, total = _progress(rollout)
    url = link("rollout", rollout.pk)
    is_going_up = rollout.kind in ("promote", "reconfigure")
    return Line(
        number=rollout.pk,
        url=url,
        model=placement.model.name,
        model_url=link("model", placement.model.name),
        environment=placement.environment.name,
        kind=KINDS.get(rollout.kind, rollout.kind),
        change=change,
        chip=shown,
        actor=rollout.actor,
        reason=printable(rollout.reason, limit=SAID_CHARS),
        began_at=rollout.created_at,
        seconds=_seconds(rollout.started_at or rollout.created_at, rollout.finished_at),
        sentence=f"{placement.model.name} {change} in {placement.environment.name}: {shown.label.strip('! >')}",
        done=done,
        total=total,
        abort_url=link("abort", rollout.pk) if is_going_up and rollout.state in CAN_ABORT else "",
        pause_url=link("pause", rollout.pk) if is_going_up and rollout.state in CAN_PAUSE else "",
        back_url=back_url(rollout),
        problem=problem(rollout.error) if not is_moving else None,
        wave=wave_words(rollout) if is_moving else "",
        gate=gate_words(getattr(rollout, "last_judgement", None)),
        left=left,
    )


def _change(rollout: "Rollout") -> str:
    """From which version to which; of a change of overlay, from which overlay to which; what a heal brings back."""
    if rollout.kind == "heal":
        return number_of(rollout.to_version)
    if rollout.kind != "reconfigure":
        return f"{number_of(rollout.from_version)} → {number_of(rollout.to_version)}"
    overlays = (
        "as uploaded" if overlay is None else f"overlay {overlay.number}"
        for overlay in (rollout.from_overlay, rollout.to_overlay)
    )
    return f"{number_of(rollout.to_version)}: {' → '.join(overlays)}"


def back_url(rollout: "Rollout") -> str:
    """Where this change is undone, while what it brought is live and what it replaced can be had back."""
    placement = rollout.placement
    if rollout.kind == "reconfigure" and rollout.state == "succeeded" and rollout.to_overlay_id == placement.overlay_id:
        before = rollout.from_overlay.number if rollout.from_overlay else 0
        return link("restore_overlay", placement.model.name, placement.environment.name, before)
    is_live = rollout.state == "succeeded" and rollout.to_version_id == placement.active_id
    if rollout.kind != "promote" or not is_live or rollout.from_version_id is None:
        return ""
    if not getattr(rollout, "has_way_back", True):
        return ""
    return link("roll_back", placement.model.name, placement.environment.name)


def _progress(rollout: "Rollout") -> tuple[int, int]:
    return getattr(rollout, "done", 0), getattr(rollout, "total", 0)


def detail(
    rollout: "Rollout",
    runs: Sequence["Run"],
    counts: Sequence[RunCount],
    gates: tuple[GateLine, ...],
    left: Estimate,
) -> Detail:
    """The grid of servers and steps; `runs` come with their steps, and are some of many where `counts` say so."""
    steps = _columns(runs)
    is_moving, shown = not has_ended(rollout.state), line(rollout)
    is_in_waves = len(rollout.plan.get("waves", ())) > 1
    total, has_failed = number_in(counts), number_in(counts, "failed", direction="forward") > 0
    return Detail(
        line=shown,
        steps=steps,
        runs=tuple(_server_run(run, steps, is_in_waves=is_in_waves) for run in runs),
        spread=spread(counts, is_in_waves=is_in_waves) if is_folded(counts) else (),
        total=total,
        problem=problem(rollout.error),
        plan=tuple(planned(rollout.plan, rollout.kind)),
        restored=_restored(rollout),
        approved=f"approved by {rollout.approved_by}" if rollout.approved_by else "",
        turned=_turned(rollout),
        gates=gates,
        controls=controls(rollout, gates, has_failed=has_failed) if is_moving else (),
        stands=stands(rollout) if is_moving else "",
        finished_at=rollout.finished_at,
        is_moving=is_moving,
        ended="" if is_moving else shown.sentence,
        left=left,
    )


def is_folded(counts: Iterable[RunCount]) -> bool:
    """Whether the grid shows a page of the servers at a time, what failed and what moves first."""
    return number_in(counts) > ROWS


def _restored(rollout: "Rollout") -> str:
    """Time to restore, in words, of what was rolled back or sent back while it moved; nothing where nothing changed."""
    seconds = rollout.time_to_restore_s
    return "" if not seconds else f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"


def _turned(rollout: "Rollout") -> str:
    """By whom it was sent back while it moved, and why, unless its error says that in the same words."""
    if not rollout.turned_by:
        return ""
    if rollout.turned_because == rollout.error.get("message"):
        return f"sent back by {rollout.turned_by}"
    return printable(f"sent back by {rollout.turned_by}: {rollout.turned_because}", limit=SAID_CHARS)


def _order(run: "Run") -> tuple[int, int]:
    return ({"forward": 0, "settle": 1}.get(run.direction, 2), run.position)


def _columns(runs: Iterable["Run"]) -> tuple[str, ...]:
    """Every step of any recipe once, each recipe's order kept."""
    names: list[str] = []
    for run in sorted(runs, key=_order):
        for name in run.recipe:
            if name not in names:
                names.append(name)
    return tuple(names)


def _server_run(run: "Run", steps: tuple[str, ...], *, is_in_waves: bool) -> ServerRun:
    made = {step.name: step for step in run.steps.all()}
    cells = tuple(_cell(made[name]) if name in made else None for name in steps)
    failed_in_step = any(cell and cell.problem for cell in cells)
    return ServerRun(
        key=run.pk,
        server=run.server.name,
        url=link("server", run.server.name),
        part=part_name(run.direction, run.wave, is_in_waves=is_in_waves),
        chip=chip(RUN, run.state),
        waiting_for=printable(run.waiting_for, limit=SAID_CHARS) if run.state == "running" else "",
        cells=cells,
        problem=None if failed_in_step else problem(run.error),
        seconds=_seconds(run.started_at, run.finished_at),
    )


def _cell(step: "StepRun") -> StepCell:
    is_running = step.state in ("running", "waiting")
    return StepCell(
        chip=chip(STEP, step.state),
        seconds=_seconds(step.started_at, step.finished_at),
        began_at=step.started_at,
        is_running=is_running,
        said=said({name: value for name, value in step.detail.items() if is_running or name != "waiting_for"}),
        problem=problem(step.error),
        calls=step.calls,
    )


def _seconds(began: datetime | None, ended: datetime | None) -> float | None:
    return (ended - began).total_seconds() if began and ended else None
