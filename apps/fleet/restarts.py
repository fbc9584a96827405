"""Telling from two looks at a server whether its process, or a version in it, has started anew. Pure.

A server says nowhere since when it runs. Two things give it away: what a version has answered so far never goes
down while it is loaded, and an explicit server forgets every version that it is not told to load: an unloaded
version stays in the index with a state, one that a restart has lost has none.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

# Requests answered and microseconds spent on them, by "model/version".
Counters = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Restart:
    """Versions that started anew, or are gone without a trace, by key; `is_server` when the whole process did."""

    versions: frozenset[str] = frozenset()
    is_server: bool = False


NOTHING = Restart()


def key_of(model: str, version: int) -> str:
    """One version of one model."""
    return f"{model}/{version}"


def asked_since(before: Counters, after: Counters, *, known: Mapping[str, str], at: datetime) -> dict[str, str]:
    """When each version was last seen to have answered more than at the look before, as text; `known` is up to then."""
    grown = {key for key, (requests, _) in after.items() if key in before and requests > before[key][0]}
    return {key: at.isoformat() if key in grown else known[key] for key in after if key in grown or key in known}


def judge(before: Counters, after: Counters | None, *, ready: Collection[str], listed: Collection[str]) -> Restart:
    """What has started anew between two looks.

    `before` and `after` are what was answered; leave out of `before`, and of `ready`, what Conch itself may have
    loaded meanwhile. `ready` were READY before, `listed` have a state in the index now.
    """
    running = after or {}
    fresh = {key for key, counted in before.items() if key in running and _went_back(counted, running[key])}
    lost = {key for key in ready if key not in listed and key not in running} if after is not None else set()
    went_on = {key for key, (requests, _) in before.items() if requests and key in running} - fresh
    return Restart(frozenset(fresh | lost), is_server=bool(fresh | lost) and not went_on)


def _went_back(before: tuple[int, int], after: tuple[int, int]) -> bool:
    return any(now < was for was, now in zip(before, after, strict=True))
