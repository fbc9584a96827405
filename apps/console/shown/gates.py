"""Gates as people see them: the value, what it is held against, and what was asked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from apps.console.shown.state import VERDICT, Chip, chip
from apps.deployments.policy import Policy
from apps.deployments.selectors import has_ended
from apps.metrics.gates import Gate
from apps.metrics.labels import shown

if TYPE_CHECKING:
    from apps.deployments.models import Judgement, Rollout


@dataclass(frozen=True, slots=True)
class GateLine:
    """One gate of a rollout with one of its judgements, mostly the newest."""

    name: str
    sentence: str
    chip: Chip
    value: str = "–"
    limit: str = "–"
    baseline: str = "–"
    unit: str = ""
    samples: str = "–"
    at: datetime | None = None
    wave: int = 0
    message: str = ""
    queries: tuple[str, ...] = ()
    is_skipped: bool = False


def gate_lines(rollout: "Rollout", policy: Policy, judgements: Mapping[str, "Judgement"]) -> tuple[GateLine, ...]:
    """Every gate of the rollout's policy, in its order; none where nothing is judged, as in a rollback."""
    if not rollout.goes_in_waves:
        return ()
    unjudged = "never" if has_ended(rollout.state) else ""
    return tuple(
        _line(gate, judgements.get(gate.name), rollout.skipped_gates.get(gate.name), unjudged=unjudged)
        for gate in policy.gates
    )


def judgement_lines(policy: Policy, judgements: Iterable["Judgement"]) -> tuple[GateLine, ...]:
    """Judgements of a rollout under its policy, each as a line of its own."""
    gates = {gate.name: gate for gate in policy.gates}
    return tuple(_line(gates[one.gate], one, None, unjudged="") for one in judgements if one.gate in gates)


def gate_words(judgement: "Judgement | None") -> str:
    """`p99 41 (gate 60)`, and `failed` where it did: for a strip that has no room."""
    if judgement is None:
        return ""
    limit = "" if judgement.threshold is None else f" (gate {shown(judgement.threshold)})"
    value = "no data" if judgement.value is None else shown(judgement.value)
    failed = " failed" if judgement.verdict == "fail" else ""
    return f"{judgement.gate} {value}{limit}{failed}"


def _line(gate: Gate, judged: "Judgement | None", skipped: Mapping[str, str] | None, *, unjudged: str) -> GateLine:
    verdict = "skipped" if skipped else judged.verdict if judged else unjudged
    why = f"skipped by {skipped['by']}: {skipped['reason']}" if skipped else ""
    if judged is None:
        return GateLine(gate.name, gate.sentence, chip(VERDICT, verdict), message=why, is_skipped=bool(skipped))
    scale, unit = (100, "%") if gate.unit == "ratio" else (1, gate.unit)
    return GateLine(
        name=gate.name,
        sentence=gate.sentence,
        chip=chip(VERDICT, verdict),
        value=_number(judged.value, scale),
        limit=_number(judged.threshold, scale),
        baseline=_number(judged.baseline, scale),
        unit=unit,
        samples=_samples(judged),
        at=judged.at,
        wave=judged.wave + 1,
        message=why or judged.message,
        queries=tuple(judged.queries),
        is_skipped=bool(skipped),
    )


def _number(value: float | None, scale: int) -> str:
    return "–" if value is None else shown(value * scale)


def _samples(judged: "Judgement") -> str:
    if judged.samples is None:
        return "no data"
    return f"{judged.samples:,.0f}" + (f", {judged.synthetic} synthetic" if judged.synthetic else "")
