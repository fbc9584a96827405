"""Environments as people see them: how promotions go there, in words."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from apps.console.shown.words import count
from apps.deployments.policy import Approval, Policy
from apps.deployments.selectors import policy_in


@dataclass(frozen=True, slots=True)
class EnvironmentLine:
    """One environment in the list."""

    name: str
    rank: int
    waves: str
    bake: str
    gates: tuple[str, ...]
    obstacles: tuple[str, ...]
    standby_window_s: int


def environment_line(environment: Any) -> EnvironmentLine:
    """A row of `with_policies` in words."""
    policy = policy_in(environment)
    bakes = [f"{seconds} s {when}" for seconds, when in _bakes(policy) if seconds]
    return EnvironmentLine(
        name=environment.name,
        rank=environment.rank,
        waves=f"{', '.join(map(str, policy.waves))}; {policy.parallel} at a time",
        bake=", ".join(bakes) or "none",
        gates=tuple(gate.sentence for gate in policy.gates),
        obstacles=tuple(_obstacles(policy)),
        standby_window_s=policy.standby_window_s,
    )


def _bakes(policy: Policy) -> tuple[tuple[int, str], ...]:
    return (policy.bake_s, "after each wave"), (policy.final_bake_s, "at the end")


def _obstacles(policy: Policy) -> Iterator[str]:
    if policy.approval == Approval.ANOTHER:
        yield "somebody else must approve"
    if policy.after is not None:
        yield f"only after {policy.after.minutes} min in {policy.after.environment}"
    if policy.freeze:
        yield count(len(policy.freeze), "freeze window")
