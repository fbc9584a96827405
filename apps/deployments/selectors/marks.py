"""Moments to mark in charts: where a rollout began and how it ended."""

from dataclasses import dataclass
from datetime import datetime

from apps.deployments.models import Rollout
from apps.deployments.selectors.rollouts import rollouts
from apps.deployments.states import RolloutKind, RolloutState


@dataclass(frozen=True, slots=True)
class Mark:
    """One moment of one rollout; `kind` is began, rollback, succeeded, rolled_back or failed."""

    at: datetime
    kind: str
    label: str
    rollout_id: int

    @property
    def url(self) -> str:
        """The rollout's page."""
        return f"/rollouts/{self.rollout_id}/"


def marks(*, environment: str = "", model: str = "", since: datetime, until: datetime) -> list[Mark]:
    """Marks between two moments, in order of time."""
    found = rollouts(environment=environment, model=model).filter(created_at__lte=until)
    found = found.exclude(kind=RolloutKind.RETIRE).exclude(finished_at__lt=since)[:100]
    every = [mark for rollout in found for mark in _marks_of(rollout)]
    return sorted((mark for mark in every if since <= mark.at <= until), key=lambda mark: mark.at)


def _marks_of(rollout: Rollout) -> list[Mark]:
    who = f"by {rollout.actor}" + (f": {rollout.reason}" if rollout.reason else "")
    change = f"{rollout.placement.model} {_number(rollout.from_version)} > {_number(rollout.to_version)}"
    where = f"{change} in {rollout.placement.environment}"
    kind = "rollback" if rollout.kind == RolloutKind.ROLLBACK else "began"
    found = [Mark(rollout.created_at, kind, f"{rollout.kind} {where}, {who}", rollout.pk)]
    if rollout.finished_at:
        why = rollout.error.get("message", "") if rollout.state != RolloutState.SUCCEEDED else ""
        label = f"{where}: {rollout.state.replace('_', ' ')}" + (f" ({why[:160]})" if why else "")
        found.append(Mark(rollout.finished_at, rollout.state, label, rollout.pk))
    return found


def _number(version: object) -> str:
    return str(getattr(version, "number", "none"))
