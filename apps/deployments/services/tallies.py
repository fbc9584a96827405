"""Counting what ended long ago, once: a scrape of Conch's own /metrics reads the tallies and what came since."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max, Min, Q

from apps.deployments.models import Rollout, RolloutTally
from apps.deployments.selectors.telemetry import ended, merged, tallies
from apps.deployments.states import ACTIVE_ROLLOUT
from apps.fleet.models import Environment

# Keys are given out before they are seen by others: what is this old has been seen by everybody.
SETTLED_AFTER = timedelta(hours=1)


@transaction.atomic
def tally_ended(now: datetime) -> int:
    """Count the rollouts up to the last before which none moves; how many came to the tallies."""
    # One at a time, the first time too, when there is no tally yet to hold.
    homes = Environment.objects.select_for_update(no_key=True).order_by("pk")
    environments = dict(homes.values_list("name", "pk"))
    kept, before_id = tallies()
    upto_id = _settled_id(now)
    fresh = ended(Q(pk__gt=before_id, pk__lte=upto_id))
    if not fresh:
        return 0
    for one in merged([*kept, *fresh]):
        RolloutTally.objects.update_or_create(
            environment_id=environments[one.environment],
            kind=one.kind,
            state=one.state,
            defaults={
                "count": one.count,
                "sum_s": one.sum_s,
                "below": {str(second): number for second, number in one.below.items()},
                "upto_id": upto_id,
            },
        )
    return sum(one.count for one in fresh)


def _settled_id(now: datetime) -> int:
    """The last rollout of those that are old enough, and older than all that move."""
    oldest_moving = Rollout.objects.filter(state__in=ACTIVE_ROLLOUT).aggregate(pk=Min("pk"))["pk"]
    old = Rollout.objects.filter(created_at__lt=now - SETTLED_AFTER)
    if oldest_moving is not None:
        old = old.filter(pk__lt=oldest_moving)
    return old.aggregate(pk=Max("pk"))["pk"] or 0
