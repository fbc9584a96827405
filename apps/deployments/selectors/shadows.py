"""How a version did aside: what failed and what is newest, and how many more there are; a fleet has thousands."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models import Case, Count, Value, When

from apps.deployments.models import StepRun
from apps.deployments.states import StepState


@dataclass(frozen=True, slots=True)
class Shadows:
    """Tries of some rollouts, those that failed or go on before the newest; `more` counts those left out.

    The steps come with their run and its server. `more` is by rollout and state.
    """

    steps: tuple[StepRun, ...]
    more: Mapping[tuple[int, str], int]


def shadows_of(rollouts: Collection[int], *, most: int) -> Shadows:
    """The tries aside in these rollouts, `most` of them whole: two queries, whatever the size of the fleet."""
    found = StepRun.objects.filter(name="shadow", run__rollout__in=rollouts)
    passed_last = Case(When(state=StepState.FAILED, then=0), When(state=StepState.SUCCEEDED, then=2), default=Value(1))
    in_order = found.select_related("run__server").order_by(passed_last, "-run__rollout", "run__position", "pk")
    steps = tuple(in_order[:most])
    counted = found.order_by().values_list("run__rollout", "state").annotate(number=Count("pk"))
    more = Counter({(rollout, state): number for rollout, state, number in counted})
    more.subtract((step.run.rollout_id, step.state) for step in steps)
    return Shadows(steps, +more)
