"""What a step can say when it is called."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Done:
    """The step's work is done; `detail` is what people read of it."""

    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wait:
    """Call again in `seconds`: the world is not there yet, and `why` says what is missing."""

    seconds: float
    why: str


@dataclass(frozen=True, slots=True)
class Reroute:
    """The recipe rested on something that is no longer so; walk this one instead."""

    recipe: list[str]
    why: str


Outcome = Done | Wait | Reroute
