"""Where versions were published, by the steps that did it: no repository is read."""

from collections.abc import Iterable
from dataclasses import dataclass

from apps.deployments.models import StepRun
from apps.deployments.states import StepState

# A repository of this kind keeps no copy: load calls bring the files.
INLINE = "inline"


@dataclass(frozen=True, slots=True, order=True)
class Published:
    """One version in one repository."""

    version_id: int
    repository: str
    repository_id: int


def published(version_ids: Iterable[int]) -> list[Published]:
    """Where these versions were brought, in order; what keeps no copy is not among it. One query."""
    steps = StepRun.objects.filter(name="publish", state=StepState.SUCCEEDED)
    steps = steps.filter(run__rollout__to_version__in=list(version_ids)).exclude(run__server__repository__kind=INLINE)
    rows = steps.values_list(
        "run__rollout__to_version", "run__server__repository__name", "run__server__repository"
    ).distinct()
    return sorted(Published(version or 0, name, repository) for version, name, repository in rows)
