"""A measured number, what it is held against, and the arithmetic behind it. Pure."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its unit; `beside` is the same number for other ways, None where it cannot be told.

    `bar` is the most it may be; of a throughput, or a share of one, it is the least.
    """

    name: str
    value: float
    unit: str
    bar: float
    beside: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether the bar is kept."""
        return self.value >= self.bar if self.is_throughput else self.value <= self.bar

    @property
    def is_throughput(self) -> bool:
        """Whether more is better."""
        return is_throughput(self.name)

    def document(self) -> dict[str, Any]:
        """As it stands in the result's JSON."""
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "beside": dict(self.beside),
            "bar": self.bar,
            "holds": self.holds,
        }


def is_throughput(name: str) -> bool:
    """Whether more of the figure of that name is better."""
    return name.endswith(("throughput_ratio", "ready_ratio"))


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a client: when it was sent (CLOCK_MONOTONIC), how long it took, what came back."""

    sent_s: float
    latency_ms: float
    server: int
    version: int = 0
    error: str = ""

    @property
    def answered_s(self) -> float:
        """When the answer, or the refusal, was there."""
        return self.sent_s + self.latency_ms / 1000


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time, both ends CLOCK_MONOTONIC in seconds."""

    begin_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """How long it is."""
        return self.end_s - self.begin_s


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` (0..1) of `values` do not exceed: always one that was measured."""
    if not values:
        raise ValueError("no values")
    ranked = sorted(values)
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)]


def in_flight(requests: Iterable[Request], window: Window) -> list[Request]:
    """Requests under way at some moment of the window: a stalled one began before it or ends after it."""
    return [one for one in requests if one.sent_s < window.end_s and one.answered_s >= window.begin_s]


def longest_ms(requests: Iterable[Request], window: Window) -> float:
    """The longest request of a window; ValueError when nobody asked anything in it."""
    return max(one.latency_ms for one in in_flight(requests, window))


def failed(requests: Iterable[Request], windows: Iterable[Window]) -> int:
    """Requests that failed in any of the windows."""
    kept = list(windows)
    return sum(1 for one in requests if one.error and any(in_flight([one], window) for window in kept))


def stall_ratio(requests: Sequence[Request], *, changing: Sequence[Window], quiet: Sequence[Window]) -> float:
    """The median of the longest requests while things change, over that of equally long quiet windows."""
    maxima = [statistics.median(longest_ms(requests, window) for window in side) for side in (changing, quiet)]
    return maxima[0] / maxima[1]
