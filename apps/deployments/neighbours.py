"""Whether a load has hurt the other models of its server. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from apps.deployments.policy import Guard

# Requests answered and microseconds spent on them since a version was loaded, by "model/version".
Counts = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Hurt:
    """One version that answered more slowly while something else was loaded; mean times in milliseconds."""

    key: str
    before_ms: float
    during_ms: float
    requests: int

    def __str__(self) -> str:
        took = f"{self.during_ms:.3g} ms instead of {self.before_ms:.3g} ms"
        return f"{self.key} took {took} over {self.requests} requests"


def usual_ms(recently: Counts, now: Counts, *, minimum_requests: int) -> dict[str, float]:
    """What a request to each version takes: of late where there were enough of them, else over its whole life."""
    found = {}
    for key, counted in now.items():
        window = _between(recently.get(key, (0, 0)), counted)
        requests, spent_us = window if window is not None and window[0] >= minimum_requests else counted
        if requests >= minimum_requests:
            found[key] = spent_us / requests / 1_000
    return found


def hurt(usual: Mapping[str, float], began: Counts, now: Counts, *, guard: Guard) -> list[Hurt]:
    """The versions slowed down past the guard's limits since `began`; too few requests tell nothing."""
    found = []
    for key, before_ms in usual.items():
        window = _between(began[key], now[key]) if key in began and key in now else None
        if window is None or window[0] < guard.minimum_requests:
            continue
        during_ms = window[1] / window[0] / 1_000
        if during_ms > before_ms * guard.ratio and during_ms - before_ms > guard.minimum_ms:
            found.append(Hurt(key, before_ms, during_ms, window[0]))
    return sorted(found, key=lambda one: one.before_ms - one.during_ms)


def _between(before: tuple[int, int], after: tuple[int, int]) -> tuple[int, int] | None:
    """Requests and time in between; None when the version was loaded anew meanwhile."""
    requests, spent_us = after[0] - before[0], after[1] - before[1]
    return (requests, spent_us) if requests >= 0 and spent_us >= 0 else None
