"""Rollouts, read."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Avg, Case, Count, Exists, F, Max, OuterRef, Prefetch, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce

from apps.common.due import is_due, is_free
from apps.deployments.errors import RolloutUnknown, RunUnknown
from apps.deployments.models import Placement, PlacementChange, Rollout, Run, StepRun
from apps.deployments.selectors.placements import without_large
from apps.deployments.selectors.ways_back import has_way_back
from apps.deployments.states import ACTIVE_ROLLOUT, MOVING_ROLLOUT, RolloutKind, RolloutState, RunDirection, RunState

# Kinds that leave the same version live.
MOVES_NOTHING = (RolloutKind.RETIRE, RolloutKind.RECONFIGURE, RolloutKind.HEAL)
DIRECTIONS = (RunDirection.FORWARD, RunDirection.SETTLE, RunDirection.REVERT)
TROUBLE = (RunState.FAILED, RunState.RUNNING, RunState.CANCELLED)


@dataclass(frozen=True, slots=True)
class RunCount:
    """So many runs of one rollout are alike in these; `mean_s` is what those that ended took."""

    direction: str
    wave: int
    state: str
    number: int
    mean_s: float | None = None
    last_began_at: datetime | None = None


def rollouts(
    *, environment: str = "", model: str = "", state: str = "", kind: str = "", active: bool | None = None
) -> QuerySet[Rollout]:
    """Rollouts that match, newest first."""
    wanted = {
        "placement__environment__name": environment,
        "placement__model__name": model,
        "state": state,
        "kind": kind,
    }
    found = Rollout.objects.select_related(
        "placement__environment", "placement__model", "from_version", "to_version", "from_overlay", "to_overlay"
    ).defer(*without_large("from_version", "to_version"))
    found = found.filter(**{name: value for name, value in wanted.items() if value})
    if active is not None:
        found = found.filter(state__in=ACTIVE_ROLLOUT) if active else found.exclude(state__in=ACTIVE_ROLLOUT)
    return found.order_by("-pk")


def with_progress(found: QuerySet[Rollout]) -> QuerySet[Rollout]:
    """Each rollout with how many forward runs it has (`total`) and how many succeeded (`done`).

    Counted for the rows that are shown: joining would group the whole history first.
    """
    forward = Run.objects.filter(rollout=OuterRef("pk"), direction=RunDirection.FORWARD)
    return found.annotate(total=_counted(forward), done=_counted(forward.filter(state=RunState.SUCCEEDED)))


def with_way_back(found: QuerySet[Rollout]) -> QuerySet[Rollout]:
    """Each rollout with whether its placement has an earlier version to go back to (`has_way_back`)."""
    return found.annotate(has_way_back=has_way_back("placement__"))


def _counted(runs: QuerySet[Run]) -> Coalesce:
    return Coalesce(Subquery(runs.order_by().values("rollout").annotate(runs=Count("pk")).values("runs")), 0)


def get_rollout(rollout_id: int) -> Rollout:
    """One rollout with its progress, and without its runs: there may be a thousand; or RolloutUnknown."""
    rollout = with_way_back(with_progress(rollouts())).filter(pk=rollout_id).first()
    if rollout is None:
        raise RolloutUnknown(f"there is no rollout {rollout_id}")
    return rollout


def _with_steps(runs: QuerySet[Run]) -> QuerySet[Run]:
    steps = Prefetch("steps", queryset=StepRun.objects.order_by("position", "pk"))
    return runs.select_related("server").prefetch_related(steps)


def runs_of(
    rollout: Rollout, *, is_trouble_first: bool = False, state: str = "", direction: str = "", server: str = ""
) -> QuerySet[Run]:
    """Its runs that match, with their steps: forward, settling, putting back; where asked, what failed comes first."""
    order: tuple[Case | str, ...] = (_by(DIRECTIONS, "direction"), "position", "pk")
    wanted = {"state": state, "direction": direction, "server__name": server}
    found = rollout.runs.filter(**{name: value for name, value in wanted.items() if value})
    return _with_steps(found.order_by(*((_by(TROUBLE, "state"),) if is_trouble_first else ()), *order))


def _by(order: Sequence[str], field: str) -> Case:
    return Case(*(When(**{field: one}, then=Value(at)) for at, one in enumerate(order)), default=Value(len(order)))


def run_counts(rollout: Rollout) -> list[RunCount]:
    """How many runs of each direction and wave are in each state: one query, whatever the size of the fleet."""
    return run_counts_of([rollout.pk])[rollout.pk]


def run_counts_of(rollouts: Collection[int]) -> dict[int, list[RunCount]]:
    """The same of each of these, by rollout, in one query; none without rollouts."""
    alike = ("rollout", "direction", "wave", "state")
    found = Run.objects.filter(rollout__in=rollouts).order_by(*alike).values_list(*alike)
    took = Avg(F("finished_at") - F("started_at"))
    counts: dict[int, list[RunCount]] = {pk: [] for pk in rollouts}
    rows = found.annotate(number=Count("pk"), took=took, last_began_at=Max("started_at"))
    for pk, direction, wave, state, number, mean, began_at in rows:
        counts[pk].append(RunCount(direction, wave, state, number, mean and mean.total_seconds(), began_at))
    return counts


def failed_runs(rollout: Rollout, *, most: int) -> list[Run]:
    """The first `most` runs that failed, in whatever direction, each with its server."""
    return list(rollout.runs.filter(state=RunState.FAILED).select_related("server").order_by("pk")[:most])


def failed_servers(rollout: Rollout) -> list[str]:
    """Where it failed on its way forward, by name, in the order of the plan."""
    return _servers(rollout.runs.filter(state=RunState.FAILED))


def changed_servers(rollout: Rollout) -> list[str]:
    """What it has changed, or is changing, on its way forward."""
    return _servers(rollout.runs.filter(has_changed_server=True))


def _servers(runs: QuerySet[Run]) -> list[str]:
    forward = runs.filter(direction=RunDirection.FORWARD).order_by("position")
    return list(forward.values_list("server__name", flat=True))


def get_run(run_id: int) -> Run:
    """One run with its rollout: enough to see whether it is still wanted and what is next."""
    return Run.objects.select_related("rollout").get(pk=run_id)


def require_run(run_id: int) -> None:
    """RunUnknown when no run has that number."""
    if not Run.objects.filter(pk=run_id).exists():
        raise RunUnknown(f"there is no run {run_id}")


def state_of(rollout_id: int) -> str:
    """A rollout's state, in the cheapest query there is; for waiting on it."""
    for state in Rollout.objects.filter(pk=rollout_id).values_list("state", flat=True):
        return state
    raise RolloutUnknown(f"there is no rollout {rollout_id}")


def has_ended(state: str) -> bool:
    """Whether a rollout in that state will not move any more."""
    return state not in ACTIVE_ROLLOUT


def active_rollout(placement: Placement) -> Rollout | None:
    """The one that is moving the placement now."""
    return rollouts(active=True).filter(placement=placement).first()


def due_rollouts(now: datetime) -> list[int]:
    """Rollouts that go on by themselves and that nobody has looked at lately.

    One that waits for somebody goes by itself too, once the release it is part of goes back.
    """
    goes_on = Q(state__in=MOVING_ROLLOUT) | Q(state__in=ACTIVE_ROLLOUT, release__decision="back")
    return list(Rollout.objects.filter(goes_on, is_due("due_at", now)).values_list("pk", flat=True))


def due_runs(now: datetime) -> list[int]:
    """Running runs that are due and that no worker holds."""
    return list(_due(now).values_list("pk", flat=True))


def waiting_runs(now: datetime) -> int:
    """How many there are of those."""
    return _due(now).count()


def _due(now: datetime) -> QuerySet[Run]:
    return Run.objects.filter(is_due("due_at", now), is_free(now), state=RunState.RUNNING)


def expired_standbys(now: datetime) -> list[Placement]:
    """Placements whose standby has been kept long enough; a hold keeps the way back too."""
    return list(
        Placement.objects.select_related("environment", "model", "active", "standby")
        .filter(standby__isnull=False, standby_until__lte=now, held_at=None)
        .exclude(rollouts__state__in=ACTIVE_ROLLOUT)
    )


def last_live(placement: Placement) -> Rollout | None:
    """The rollout that made the active version live, on some servers at least; not one that moved no pointer."""
    made = rollouts().filter(went_live(), placement=placement, to_version=placement.active)
    return made.exclude(kind__in=MOVES_NOTHING).exclude(from_version=F("to_version")).first()


def went_live() -> Q:
    """Rollouts that moved what they were to move: one that failed on some servers has done so for the others."""
    return Q(state=RolloutState.SUCCEEDED) | Q(
        Exists(PlacementChange.objects.filter(rollout=OuterRef("pk"), what="done"))
    )
