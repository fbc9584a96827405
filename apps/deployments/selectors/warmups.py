"""What passed in shadows: the inputs that a version's live load may be warmed with."""

from collections.abc import Collection
from typing import Any

from django.db.models import OuterRef, Subquery

from apps.deployments.models import StepRun
from apps.deployments.states import RunDirection, StepState
from apps.registry.models import Version


def proven_warmups(version_ids: Collection[int | None]) -> dict[int, list[dict[str, Any]]]:
    """The warm-up that passed in each version's last good shadow; a version that never had one is not there."""
    passed = StepRun.objects.filter(
        name="shadow",
        state=StepState.SUCCEEDED,
        run__rollout__to_version=OuterRef("pk"),
        run__direction=RunDirection.FORWARD,
    )
    # Every server has passed one: only the last of them is read.
    last = Subquery(passed.order_by("-finished_at", "-pk").values("detail")[:1])
    versions = Version.objects.filter(pk__in=[pk for pk in version_ids if pk is not None])
    rows = versions.annotate(shadow=last).filter(shadow__isnull=False).values_list("pk", "shadow")
    return {version_id: list(detail.get("warmup", [])) for version_id, detail in rows}
