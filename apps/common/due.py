"""When a row is due, on clocks that may be wrong: the one rule for every time that says when to look again."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q

# Nobody puts anything off for longer than this, unless the caller says so.
FURTHEST = timedelta(minutes=2)
# A check of a server takes its lease for three; so a holder whose clock is a little ahead is not robbed.
MOST_LEASES = 4


def furthest() -> timedelta:
    """How far ahead a believable time may lie."""
    return max(FURTHEST, timedelta(seconds=settings.CONCH["lease_s"] * MOST_LEASES))


def is_due(field: str, now: datetime, *, at_most: timedelta | None = None) -> Q:
    """Rows whose time has come, and those whose time lies further ahead than anybody would ever have put it.

    The latter was written by a clock that was ahead: waiting for it would stall the row until that time comes.
    """
    return Q(**{f"{field}__lte": now}) | Q(**{f"{field}__gt": now + (at_most or furthest())})


def is_free(now: datetime, field: str = "lease_until", *, at_most: timedelta | None = None) -> Q:
    """Rows that nobody holds; a lease from a clock that was ahead holds nothing."""
    return Q(**{field: None}) | is_due(field, now, at_most=at_most)
