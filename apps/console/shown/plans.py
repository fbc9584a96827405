"""A promotion's plan as people see it."""

from collections.abc import Iterator
from dataclasses import dataclass

from apps.common.text import SHOWN_CHARS, printable
from apps.console.shown.memory import planned_memory
from apps.console.shown.state import Chip
from apps.console.shown.words import count, listed, mark_of
from apps.deployments.memory import Fit
from apps.deployments.services.planning import PlannedServer, PromotionPlan

MOST_ROWS = 20


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One server's share in words."""

    server: str
    wave: str
    load: str
    keep: str
    drop: str
    speed: str
    takes_s: float | None
    memory: Chip


@dataclass(frozen=True, slots=True)
class ShownPlan:
    """The whole plan."""

    title: str
    model: str
    facts: tuple[str, ...]
    rows: tuple[PlanRow, ...]
    more: int
    gates: tuple[tuple[str, str, str], ...]
    changes: tuple[str, ...]
    obstacles: tuple[tuple[str, str, str], ...]
    short: tuple[str, ...]
    asked: tuple[str, ...] = ()


def shown_plan(plan: PromotionPlan, *, told: str = "") -> ShownPlan:
    """In words, with the first servers of many; without the refusal that stands on the page already."""
    return ShownPlan(
        title=f"{plan.model} {plan.from_version or '–'} → {plan.to_version} in {plan.environment}",
        model=plan.model,
        facts=tuple(_facts(plan)),
        rows=tuple(_row(server) for server in plan.servers[:MOST_ROWS]),
        more=max(0, len(plan.servers) - MOST_ROWS),
        gates=tuple((gate.name, gate.sentence, gate.remark) for gate in plan.gates),
        changes=plan.interface_changes,
        obstacles=tuple(
            (error.title, printable(error.message, limit=SHOWN_CHARS), error.hint)
            for error in plan.obstacles
            if mark_of(error) != told
        ),
        short=tuple(_short(plan)),
        asked=tuple(_asked(plan)),
    )


def _facts(plan: PromotionPlan) -> Iterator[str]:
    waves = " + ".join(map(str, plan.waves)) or "no"
    servers = count(len(plan.servers), "server")
    yield f"{servers} in {count(len(plan.waves), 'wave')} ({waves}), {plan.parallel} at a time"
    if any(plan.bakes_s):
        yield f"bakes for {', '.join(f'{seconds} s' for seconds in plan.bakes_s)}"
    if plan.needs_approval:
        yield "begins when somebody else approves"
    if plan.expected_s is None:
        yield "how long it takes is not known: this model was never promoted"
    else:
        yield f"about {plan.expected_s:,.0f} s"
    if plan.no_shadow:
        yield plan.no_shadow
    yield f"policy {plan.policy_number}"


def _short(plan: PromotionPlan) -> Iterator[str]:
    """Where memory is short, by what was last read."""
    by_fit = {fit: [one.server for one in plan.servers if one.memory == fit] for fit in (Fit.DROPS_STANDBY, Fit.SHORT)}
    if by_fit[Fit.DROPS_STANDBY]:
        yield f"the standby is let go of first, for want of memory, on {listed(by_fit[Fit.DROPS_STANDBY])}"
    if by_fit[Fit.SHORT]:
        yield (
            f"it does not fit into the memory of {listed(by_fit[Fit.SHORT])}: preflight will refuse it there, "
            "before the server is touched"
        )


def _asked(plan: PromotionPlan) -> Iterator[str]:
    """Which of the versions that go were asked for within the last hour, and where."""
    for version in sorted({one.version for server in plan.servers for one in server.asked}):
        found = [(server.server, one) for server in plan.servers for one in server.asked if one.version == version]
        by_number = [name for name, one in found if one.by_number]
        if by_number:
            yield f"{version} was asked for by its number on {listed(by_number)}: who does so will get errors"
        else:
            where = listed([name for name, _ in found])
            yield f"{version} answers clients on {where}: who names it by number will get errors, all others go on"


def _row(server: PlannedServer) -> PlanRow:
    return PlanRow(
        server=server.server,
        wave=str(server.wave + 1),
        load=_numbers(server.load),
        keep=_numbers(server.keep),
        drop=_numbers(server.drop),
        speed=_speed(server),
        takes_s=server.expected_s,
        memory=planned_memory(server),
    )


def _speed(server: PlannedServer) -> str:
    """How it goes there; a version that is loaded already is tried aside all the same."""
    if not server.is_hot:
        return "cold"
    return "shadow, then nothing to load" if "shadow" in server.steps else "nothing to load"


def _numbers(versions: tuple[int, ...]) -> str:
    return ", ".join(map(str, versions)) or "–"
