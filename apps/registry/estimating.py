"""How fast bytes come, and when all of them will be here. Pure."""

from datetime import datetime, timedelta

from apps.common.estimate import Estimate

# What came is kept every quarter of a minute or so: less than this is no rate, and more than that no pause.
LEAST = timedelta(seconds=1)
STILL = timedelta(minutes=2)


def rate_bytes_s(received_bytes: int, *, began_at: datetime, moved_at: datetime) -> float | None:
    """Bytes a second from its beginning to when a byte last came, waiting for its turn included; None before that."""
    took = moved_at - began_at
    return received_bytes / took.total_seconds() if received_bytes and took >= LEAST else None


def all_here(
    received_bytes: int, size_bytes: int | None, *, began_at: datetime, moved_at: datetime, now: datetime
) -> Estimate:
    """When the last byte comes, if the others come as those before.

    Counted from when a byte last came and not from `now`, so that it stands still in between.
    """
    rate = rate_bytes_s(received_bytes, began_at=began_at, moved_at=moved_at)
    if rate is None:
        return Estimate(why="nothing has come yet")
    if size_bytes is None:
        return Estimate(why="the source does not say how much there is")
    if now - moved_at > STILL:
        return Estimate(why="nothing came for a while")
    ends_at = moved_at + timedelta(seconds=max(0, size_bytes - received_bytes) / rate)
    return Estimate(ends_at) if ends_at >= now else Estimate(why="it comes slower than before")
