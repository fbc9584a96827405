"""Small words: counts and lists. Pure."""

from collections.abc import Sequence

KIB = 1024


def count(number: int, noun: str) -> str:
    """`1 server`, `3 servers`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def listed(names: Sequence[str], *, limit: int = 6) -> str:
    """`a, b, c and 4 more`; `none` when there is nothing."""
    if not names:
        return "none"
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def as_size(size_bytes: float) -> str:
    """Bytes in the unit that fits: `12 B`, `3.4 MiB`."""
    units, at = ("B", "KiB", "MiB", "GiB", "TiB"), 0
    while size_bytes >= KIB and at < len(units) - 1:
        size_bytes, at = size_bytes / KIB, at + 1
    return f"{size_bytes:.0f} {units[at]}" if at == 0 else f"{size_bytes:.1f} {units[at]}"
