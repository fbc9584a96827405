"""When the waves of a rollout will be through. Pure; it never lies in the past."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil


@dataclass(frozen=True, slots=True)
class WaveLeft:
    """What is left of a wave: servers that wait and servers that change, and the bake after them."""

    queued: int
    running: int
    last_began_at: datetime | None
    bake_s: float


def through_at(
    waves: Sequence[WaveLeft], *, each_s: float, parallel: int, baking_since: datetime | None, now: datetime
) -> datetime | None:
    """When these waves are through, the first of them under way; None once they take longer than they should.

    Counted from when the last server began and not from `now`, so that it stands still while all goes as expected.
    """
    if not waves:
        return now
    first, *later = waves
    at = _first_through(first, each_s=each_s, parallel=parallel, baking_since=baking_since, now=now)
    rest_s = sum(ceil(wave.queued / parallel) * each_s + wave.bake_s for wave in later)
    return at + timedelta(seconds=rest_s) if at >= now else None


def _first_through(
    wave: WaveLeft, *, each_s: float, parallel: int, baking_since: datetime | None, now: datetime
) -> datetime:
    if not wave.queued and not wave.running and baking_since is not None:
        return baking_since + timedelta(seconds=wave.bake_s)
    began_at = wave.last_began_at if wave.running and wave.last_began_at is not None else None
    at = now if began_at is None else began_at + timedelta(seconds=each_s)
    if at < now:
        return at
    return at + timedelta(seconds=ceil(wave.queued / parallel) * each_s + wave.bake_s)
