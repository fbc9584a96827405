"""Where else a version has run, and for how long."""

from datetime import datetime, timedelta

from apps.deployments.models import Rollout
from apps.deployments.selectors.bans import identity
from apps.deployments.states import RolloutKind, RolloutState
from apps.registry.models import Version

# Rollouts of one placement that are looked through.
LOOK_BACK = 200


def ran_well(version: Version, environment: str, *, now: datetime) -> timedelta:
    """The longest time that these bytes with this configuration were live there and were not rolled back.

    A time that ended in a rollback away from it does not count, nor does one that a failed rollout began.
    """
    history = (
        Rollout.objects.filter(
            placement__environment__name=environment,
            placement__model=version.model_id,
            state=RolloutState.SUCCEEDED,
            finished_at__isnull=False,
        )
        .exclude(kind=RolloutKind.RETIRE)
        .select_related("to_version__artifact")
        .order_by("-pk")[:LOOK_BACK]
    )
    wanted, longest, until, is_sound = identity(version), timedelta(0), now, True
    for rollout in history:
        began = rollout.finished_at or now
        if is_sound and rollout.to_version is not None and identity(rollout.to_version) == wanted:
            longest = max(longest, until - began)
        until, is_sound = began, rollout.kind != RolloutKind.ROLLBACK
    return longest
