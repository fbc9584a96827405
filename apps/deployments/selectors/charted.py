"""What a rollout's charts are about: its model, its two versions, from a little before it began to a little after."""

from datetime import datetime, timedelta

from apps.deployments.models import Rollout
from apps.deployments.selectors.policies import rollout_policy
from apps.metrics.catalogue import Page, charts_on
from apps.metrics.gates import Against, Gate
from apps.metrics.limits import Limit
from apps.metrics.questions import Question
from apps.metrics.selectors import promises
from apps.metrics.windows import LONGEST_S

BEFORE = timedelta(minutes=10)
AFTER = timedelta(minutes=10)


def question_of(rollout: Rollout, *, now: datetime) -> Question:
    """Old and new side by side over one window, which stands still once the rollout has been over for a while."""
    end = min(now, rollout.finished_at + AFTER) if rollout.finished_at else now
    range_s = int((end - (rollout.created_at - BEFORE)).total_seconds())
    both = [one for one in (rollout.from_version, rollout.to_version) if one is not None]
    return Question(
        environment=rollout.placement.environment.name,
        model=rollout.placement.model.name,
        versions=tuple(dict.fromkeys(str(one.number) for one in both)),
        range_s=min(max(range_s, 60), LONGEST_S),
        until=end if end < now else None,
    )


def limits_of(rollout: Rollout) -> dict[str, tuple[Limit, ...]]:
    """Where the rollout's gates draw the line, by chart, in the signals' own units; the model's promise without one.

    A gate that is held against the version that is replaced has no line of its own: both versions are in the chart.
    """
    gates = rollout_policy(rollout).gates
    found = promises(charts_on(Page.ROLLOUT), rollout.placement.model.name)
    lines = {key: list(limits) for key, limits in found.items()}
    for chart in charts_on(Page.ROLLOUT):
        for gate in gates:
            limit = _line(gate, rollout)
            if limit is not None and gate.signal in {one.signal for one in chart.lines}:
                lines.setdefault(chart.key, []).append(limit)
    return {key: tuple(limits) for key, limits in lines.items()}


def _line(gate: Gate, rollout: Rollout) -> Limit | None:
    if gate.against == Against.VALUE:
        return Limit(f"gate {gate.name}", gate.limit)
    promised = getattr(rollout.placement.model, gate.objective, None) if gate.against == Against.OBJECTIVE else None
    return None if promised is None else Limit(f"gate {gate.name}", gate.limit * promised)
