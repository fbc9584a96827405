"""Where the servers of a rollout are: counted, because there may be a thousand."""

from collections.abc import Iterable
from dataclasses import dataclass

from apps.console.shown.state import RUN, Chip, chip
from apps.deployments.selectors import RunCount

DIRECTIONS = {"forward": "", "settle": "settle", "revert": "put back"}


@dataclass(frozen=True, slots=True)
class Spread:
    """One wave, or what comes after the waves: how many servers, and a chip for each state that some are in."""

    name: str
    total: int
    chips: tuple[Chip, ...]


def spread(counts: Iterable[RunCount], *, is_in_waves: bool) -> tuple[Spread, ...]:
    """The waves in order, then settling, then putting back."""
    parts: dict[str, dict[str, int]] = {}
    for one in sorted(counts, key=lambda one: (list(DIRECTIONS).index(one.direction), one.wave)):
        states = parts.setdefault(part_name(one.direction, one.wave, is_in_waves=is_in_waves), {})
        states[one.state] = states.get(one.state, 0) + one.number
    return tuple(Spread(name or "servers", sum(states.values()), _chips(states)) for name, states in parts.items())


def part_name(direction: str, wave: int, *, is_in_waves: bool) -> str:
    """`wave 2`, `settle`, `put back`; empty for the servers of a rollout that has one wave."""
    if direction != "forward":
        return DIRECTIONS.get(direction, direction)
    return f"wave {wave + 1}" if is_in_waves else ""


def number_in(counts: Iterable[RunCount], *states: str, direction: str = "") -> int:
    """How many runs are in one of `states`, or in all, if none is named; going in any direction or in one."""
    of = [one for one in counts if direction in ("", one.direction)]
    return sum(one.number for one in of if not states or one.state in states)


def _chips(states: dict[str, int]) -> tuple[Chip, ...]:
    shown = {state: chip(RUN, state) for state in RUN if state in states}
    return tuple(Chip(f"{one.label} ×{states[state]:,}", one.tone, one.says) for state, one in shown.items())
