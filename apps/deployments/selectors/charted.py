"""What a rollout's charts are about: its model, its two versions, from a little before it began to a little after."""

from datetime import datetime, timedelta

from apps.deployments.models import Rollout
from apps.metrics.questions import Question
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
