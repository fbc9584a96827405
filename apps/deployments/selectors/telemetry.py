"""Conch's own figures, for its own /metrics. A constant number of queries."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import Count, DurationField, ExpressionWrapper, F, Max, Min, Q, QuerySet, Sum

from apps.deployments.models import Placement, Probe, Rollout, RolloutTally, Run
from apps.deployments.states import ACTIVE_ROLLOUT, RunState

# What was asked, and what it is called.
_PROBED = ("placement", "server", "version")
_PROBED_BY = ("placement__environment__name", "server__name", "placement__model__name")
BUCKETS_S = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600)


@dataclass(frozen=True, slots=True)
class Durations:
    """How long the rollouts of one kind took that ended in one way, in one environment; `below` counts by bucket."""

    environment: str
    kind: str
    state: str
    count: int
    sum_s: float
    below: Mapping[int, int]

    def __add__(self, other: "Durations") -> "Durations":
        """Both together."""
        below = {second: self.below[second] + other.below[second] for second in BUCKETS_S}
        return replace(self, count=self.count + other.count, sum_s=self.sum_s + other.sum_s, below=below)


def active_rollouts() -> list[tuple[str, str, str, int]]:
    """How many rollouts are moving: environment, kind, state, number."""
    found = Rollout.objects.filter(state__in=ACTIVE_ROLLOUT)
    by = ("placement__environment__name", "kind", "state")
    return list(found.values_list(*by).annotate(number=Count("pk")).order_by(*by))


def durations() -> list[Durations]:
    """All rollouts that have ended: the tallies of old, and what came since."""
    kept, upto_id = tallies()
    return merged([*kept, *ended(Q(pk__gt=upto_id))])


def tallies() -> tuple[list[Durations], int]:
    """What was counted before, and the last rollout that was looked at."""
    rows = RolloutTally.objects.select_related("environment").order_by("environment__name", "kind", "state")
    kept = [
        Durations(
            environment=row.environment.name,
            kind=row.kind,
            state=row.state,
            count=row.count,
            sum_s=row.sum_s,
            below={second: row.below.get(str(second), 0) for second in BUCKETS_S},
        )
        for row in rows
    ]
    return kept, max((row.upto_id for row in rows), default=0)


def ended(which: Q) -> list[Durations]:
    """Counted from the rollouts themselves."""
    took = ExpressionWrapper(F("finished_at") - F("created_at"), output_field=DurationField())
    by = ("placement__environment__name", "kind", "state")
    counted = {f"below_{second}": Count("pk", filter=Q(took__lte=timedelta(seconds=second))) for second in BUCKETS_S}
    found = Rollout.objects.filter(which).exclude(finished_at=None).annotate(took=took)
    rows = found.values(*by).annotate(number=Count("pk"), all_s=Sum("took"), **counted).order_by(*by)
    return [
        Durations(
            environment=row["placement__environment__name"],
            kind=row["kind"],
            state=row["state"],
            count=row["number"],
            sum_s=row["all_s"].total_seconds(),
            below={second: row[f"below_{second}"] for second in BUCKETS_S},
        )
        for row in rows
    ]


def merged(found: Iterable[Durations]) -> list[Durations]:
    """One of each environment, kind and state."""
    kept: dict[tuple[str, str, str], Durations] = {}
    for one in found:
        key = (one.environment, one.kind, one.state)
        kept[key] = kept[key] + one if key in kept else one
    return list(kept.values())


def active_versions() -> list[tuple[str, str, int]]:
    """What should serve: environment, model, version."""
    found = Placement.objects.filter(active__isnull=False)
    return list(found.values_list("environment__name", "model__name", "active__number").order_by("pk"))


def failed_probes(now: datetime) -> list[tuple[str, str, str]]:
    """Where the newest request of Conch's own to what is desired failed: environment, server, model.

    Of the last day: what was asked longer ago says nothing of today.
    """
    is_desired = Q(version=F("placement__active__number")) | Q(version=F("placement__standby__number"))
    failed = Probe.objects.filter(is_desired, has_passed=False, at__gte=now - timedelta(days=1), server__state="active")
    # Counted together first: what fails for hours has a row for each time, and none of them is looked up by itself.
    found = failed.order_by().values_list(*_PROBED, *_PROBED_BY).annotate(last=Max("at"))
    last_failed = {tuple(row[:3]): row[3:] for row in found}
    if not last_failed:
        return []
    placements, servers, _ = (set(column) for column in zip(*last_failed, strict=True))
    since = min(at for *_, at in last_failed.values())
    passed = Probe.objects.filter(has_passed=True, placement__in=placements, server__in=servers, at__gte=since)
    last_passed = {tuple(row[:3]): row[3] for row in passed.order_by().values_list(*_PROBED).annotate(last=Max("at"))}
    return sorted(
        {
            (environment, server, model)
            for probed, (environment, server, model, at) in last_failed.items()
            if last_passed.get(probed, at) <= at
        }
    )


def lag_s(now: datetime) -> float:
    """For how long the oldest work has been due that nobody took up; 0 when there is none."""
    late = [
        _oldest(Rollout.objects.filter(state__in=ACTIVE_ROLLOUT, due_at__lte=now)),
        _oldest(Run.objects.filter(state=RunState.RUNNING, due_at__lte=now).exclude(lease_until__gt=now)),
    ]
    return max(((now - due).total_seconds() for due in late if due is not None), default=0.0)


def _oldest(rows: QuerySet[Rollout] | QuerySet[Run]) -> datetime | None:
    due: datetime | None = rows.aggregate(due=Min("due_at"))["due"]
    return due
