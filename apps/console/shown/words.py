"""Small words: counts, lists and lengths of time. Pure."""

from collections.abc import Sequence
from zlib import crc32

from apps.common.errors import ControlPlaneError

_SPANS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
# Of fewer than so many hours or days the next unit still matters.
FEW = 10


def count(number: int, noun: str) -> str:
    """`1 server`, `3 servers`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def mark_of(error: ControlPlaneError) -> str:
    """Tells one refusal from another, so that what a page says already is not said twice."""
    return f"{error.code}-{crc32(error.message.encode(errors='replace')):08x}"


def listed(names: Sequence[str], *, limit: int = 6) -> str:
    """`a, b, c and 4 more`; `none` when there is nothing."""
    if not names:
        return "none"
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def span(seconds: float) -> str:
    """A length of time in its largest whole unit, with the next one while that is small: `1 h 20 min`."""
    whole = max(0, int(seconds))
    for at, (size, unit) in enumerate(_SPANS):
        if whole >= size:
            first, rest = divmod(whole, size)
            below = rest // _SPANS[at + 1][0] if at < len(_SPANS) - 1 else 0
            if below and first < FEW and unit != "min":
                return f"{first} {unit} {below} {_SPANS[at + 1][1]}"
            return f"{first} {unit}"
    return "0 s"
