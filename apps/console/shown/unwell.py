"""What is wrong with Conch's own parts: on every page from which live versions are changed."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from apps.common.text import SHOWN_CHARS, printable

if TYPE_CHECKING:
    from apps.fleet.models import Part

Unwell = tuple[tuple[str, str], ...]


def unwell_parts(parts: Iterable["Part"]) -> Unwell:
    """By name and message; parts that say the same share a line."""
    names: dict[str, list[str]] = {}
    for part in parts:
        if not part.is_well:
            names.setdefault(printable(part.message, limit=SHOWN_CHARS), []).append(part.name)
    return tuple((", ".join(together), message) for message, together in names.items())
