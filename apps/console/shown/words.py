"""Small words: counts and lists. Pure."""

from collections.abc import Sequence


def count(number: int, noun: str) -> str:
    """`1 server`, `3 servers`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def listed(names: Sequence[str], *, limit: int = 6) -> str:
    """`a, b, c and 4 more`; `none` when there is nothing."""
    if not names:
        return "none"
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
