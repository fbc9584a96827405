"""Where else a version has run, and for how long."""

from datetime import datetime, timedelta

from django.db.models import F

from apps.deployments.models import Rollout
from apps.deployments.selectors.bans import are_same
from apps.deployments.selectors.rollouts import went_live
from apps.deployments.states import RolloutKind
from apps.registry.models import Version

# Rollouts of one placement that are looked through.
LOOK_BACK = 200


def ran_well(version: Version, environment: str, *, now: datetime) -> timedelta:
    """The longest time that these bytes with this configuration were live there and were not rolled back.

    A time that ended in a rollback away from it does not count, nor does one that a failed rollout began. Mending
    servers, and bringing them right after a rollback, ends no time: the same went on. A change of overlay does: what
    ran before it says little of what runs since. Both times count, each by itself.
    """
    history = (
        Rollout.objects.filter(
            went_live(),
            placement__environment__name=environment,
            placement__model=version.model_id,
            finished_at__isnull=False,
        )
        .exclude(kind__in=(RolloutKind.RETIRE, RolloutKind.HEAL))
        .exclude(kind=RolloutKind.ROLLBACK, from_version=F("to_version"))
        .select_related("to_version__artifact")
        .order_by("-pk")[:LOOK_BACK]
    )
    longest, until, is_sound = timedelta(0), now, True
    for rollout in history:
        began = rollout.finished_at or now
        if is_sound and rollout.to_version is not None and are_same(rollout.to_version, version):
            longest = max(longest, until - began)
        until, is_sound = began, rollout.kind != RolloutKind.ROLLBACK
    return longest
