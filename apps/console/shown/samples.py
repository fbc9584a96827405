"""Samples as people see them: what they are, and which versions can take them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.common.text import SHOWN_CHARS, printable
from apps.console.shown.words import count

if TYPE_CHECKING:
    from apps.registry.models import Sample

NAMED = 6
REASONS = 3
Judged = Mapping[int, Sequence[str]]


@dataclass(frozen=True, slots=True)
class SampleLine:
    """One sample in a model's list; `misfits` are the versions that cannot take it, each with why."""

    row: "Sample"
    fits: str
    misfits: tuple[str, ...]

    @property
    def told(self) -> str:
        """All of it in one sentence or two."""
        first = f" Not {self.misfits[0]}." if self.misfits else ""
        more = f" And {count(len(self.misfits) - 1, 'other')} not." if len(self.misfits) > 1 else ""
        return f"Sample {self.row.name} fits {self.fits}.{first}{more}"


def sample_lines(samples: Iterable["Sample"], judged: Mapping[int, Judged]) -> tuple[SampleLine, ...]:
    """Each sample with what is known of it by its key."""
    return tuple(sample_line(sample, judged[sample.pk]) for sample in samples)


def sample_line(sample: "Sample", judged: Judged) -> SampleLine:
    """Why each of the newest ready versions cannot take it; no reason where it can."""
    fitting = [number for number, reasons in judged.items() if not reasons]
    misfits = tuple(_misfit(number, reasons) for number, reasons in judged.items() if reasons)
    return SampleLine(sample, _fits(fitting, len(judged)), misfits)


def _fits(numbers: Sequence[int], of: int) -> str:
    if not of:
        return "whatever comes: no version is ready"
    if not numbers:
        return "no ready version"
    if len(numbers) == of:
        return "the one ready version" if of == 1 else f"all {of} ready versions"
    named = ", ".join(map(str, numbers[:NAMED])) + (", ..." if len(numbers) > NAMED else "")
    return f"version {named}" if len(numbers) == 1 else f"versions {named}"


def _misfit(number: int, reasons: Sequence[str]) -> str:
    return printable(f"{number}: {'; '.join(reasons[:REASONS])}", limit=SHOWN_CHARS)
