"""Labels at the ends of lines: what they say, and where, so that none covers another. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

LINE_PX = 13
TINY = 1e-4


@dataclass(frozen=True, slots=True)
class Label:
    """Text for the end of a line; `shift_px` is how far up it is moved."""

    slot: int
    value: float
    text: str
    shift_px: float = 0.0


def place(labels: Sequence[Label], *, top: float, height_px: int) -> list[Label]:
    """The labels moved apart, in the order of their values, from the bottom up and never above the top."""
    ordered = sorted(labels, key=lambda label: label.value)
    wanted = [label.value / top * height_px for label in ordered]
    placed: list[float] = []
    for px in wanted:
        placed.append(max(px, placed[-1] + LINE_PX) if placed else max(px, LINE_PX / 2))
    ceiling = float(height_px)
    for index in range(len(placed) - 1, -1, -1):
        placed[index] = min(placed[index], ceiling)
        ceiling = placed[index] - LINE_PX
    moved = zip(ordered, wanted, placed, strict=True)
    return [replace(label, shift_px=round(px - home, 1)) for label, home, px in moved]


def shown(value: float) -> str:
    """A value in about three digits, as people read it."""
    size = abs(value)
    if size == 0:
        return "0"
    for at_least, digits in ((100.0, 0), (10.0, 1), (1.0, 2)):
        if size >= at_least:
            return f"{value:,.{digits}f}"
    return f"{value:.2g}" if size >= TINY else f"{value:.1e}"
