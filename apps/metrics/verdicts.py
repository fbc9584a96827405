"""How one look at a gate is judged, and what a wave's looks come to. Pure; no data is never a pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import takewhile
from math import isfinite

from apps.metrics.gates import PROBE_FAILURES, Against, Gate
from apps.serving.signals import Signal


class Verdict(StrEnum):
    """What one look at a gate says. Only `pass` lets a rollout go on."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"
    # The model promises nothing, or nothing is replaced: there is nothing to hold it against.
    DOES_NOT_APPLY = "does_not_apply"


# Conch's own requests count against an error ratio only from so many failures on: one can have many causes.
FEWEST_FAILED_PROBES = 3
BLIND_SPOT = "the server counts an answer that carries an error as a success"


@dataclass(frozen=True, slots=True)
class Measured:
    """What was found for one gate; None is "no data", which is not zero. `error` says why nothing could be asked."""

    value: float | None = None
    samples: float | None = None
    baseline: float | None = None
    baseline_samples: float | None = None
    probes: int = 0
    failed_probes: int = 0
    probe_message: str = ""
    synthetic: int = 0
    unscraped: tuple[str, ...] = ()
    error: str = ""
    remark: str = ""
    queries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """One look at one gate, judged."""

    gate: str
    verdict: Verdict
    measured: Measured
    threshold: float | None = None
    message: str = ""


def judge(gate: Gate, found: Measured, *, objective: float | None, is_replacing: bool) -> Judged:
    """What `found` means for `gate`: anything short of enough data is never a pass."""
    if gate.against == Against.OBJECTIVE and objective is None:
        return Judged(gate.name, Verdict.DOES_NOT_APPLY, found, message="the model has no such objective")
    if gate.against == Against.REPLACED and not is_replacing:
        return Judged(gate.name, Verdict.DOES_NOT_APPLY, found, message="no version is replaced")
    threshold = _threshold(gate, found, objective)
    if threshold is not None and (told := _failing_probes(gate, found, threshold)):
        return Judged(gate.name, Verdict.FAIL, found, threshold, told)
    if found.error:
        return Judged(gate.name, Verdict.ERROR, found, threshold, found.error)
    if unclear := _unclear(gate, found):
        return Judged(gate.name, Verdict.INCONCLUSIVE, found, threshold, unclear)
    return _compared(gate, found, threshold)


def _threshold(gate: Gate, found: Measured, objective: float | None) -> float | None:
    base = {Against.VALUE: 1.0, Against.OBJECTIVE: objective, Against.REPLACED: found.baseline}[gate.against]
    return None if base is None or not isfinite(base) else gate.limit * base


def _failing_probes(gate: Gate, found: Measured, threshold: float) -> str:
    """Why Conch's own requests are enough to fail an error ratio, whatever the server counted; else empty."""
    if gate.signal != Signal.ERROR_RATIO or found.failed_probes < FEWEST_FAILED_PROBES:
        return ""
    if found.failed_probes / found.probes <= threshold:
        return ""
    failed = f"{found.failed_probes} of {found.probes} of Conch's own requests failed"
    return f"{failed} ({BLIND_SPOT}): {found.probe_message}"


def _unclear(gate: Gate, found: Measured) -> str:
    """Why nothing follows from what was found; empty when something does."""
    if found.unscraped and gate.signal != PROBE_FAILURES:
        return f"{', '.join(found.unscraped[:5])} was not scraped: down is not the same as no errors"
    if found.samples is None:
        return "no data yet: a series needs two scrapes before anything follows from it"
    if not found.samples >= gate.minimum_samples:
        return f"{found.samples:.0f} requests, {gate.minimum_samples} are needed"
    if found.value is None or not isfinite(found.value):
        return "there were requests, but no value for them"
    if found.value < 0:
        return f"the value is {found.value:.4g}, and nothing that is judged can be less than nothing"
    return _unclear_baseline(gate, found) if gate.against == Against.REPLACED else ""


def _unclear_baseline(gate: Gate, found: Measured) -> str:
    if found.baseline is None or not isfinite(found.baseline):
        return "there is no data of the replaced version"
    if not (found.baseline_samples or 0) >= gate.minimum_samples:
        return f"{found.baseline_samples or 0:.0f} requests to the replaced version, {gate.minimum_samples} are needed"
    if found.baseline == 0 and gate.at == "most" and found.value:
        return "the replaced version had none at all, and a factor of nothing is nothing: hold it against a value"
    return ""


def _compared(gate: Gate, found: Measured, threshold: float | None) -> Judged:
    if found.value is None or threshold is None:
        raise ValueError(f"gate {gate.name} was compared without a value and a threshold")
    is_met = found.value <= threshold if gate.at == "most" else found.value >= threshold
    return Judged(gate.name, Verdict.PASS if is_met else Verdict.FAIL, found, threshold, found.remark)


@dataclass(frozen=True, slots=True)
class Look:
    """A judgement as it is kept: when, and what it said."""

    at: datetime
    verdict: str


class Standing(StrEnum):
    """What a wave's looks at one gate come to."""

    PASSED = "passed"
    FAILED = "failed"
    UNCLEAR = "unclear"
    # The last word is not spoken yet: ask again.
    OPEN = "open"


def standing(gate: Gate, looks: Sequence[Look], *, since: datetime) -> Standing:
    """What the looks of one wave, oldest first, say; the decisive one was taken at or after `since`."""
    if sum(look.verdict == Verdict.FAIL for look in looks) >= gate.failure_limit:
        return Standing.FAILED
    last = looks[-1] if looks else None
    if last is not None and last.verdict == Verdict.DOES_NOT_APPLY:
        return Standing.PASSED
    if last is None or last.at < since:
        return Standing.OPEN
    if last.verdict == Verdict.PASS:
        return Standing.PASSED
    if last.verdict == Verdict.ERROR:
        return Standing.UNCLEAR if _errors_in_a_row(looks) >= gate.error_limit else Standing.OPEN
    return Standing.UNCLEAR if last.verdict == Verdict.INCONCLUSIVE else Standing.OPEN


def _errors_in_a_row(looks: Sequence[Look]) -> int:
    return sum(1 for _ in takewhile(lambda look: look.verdict == Verdict.ERROR, reversed(looks)))
