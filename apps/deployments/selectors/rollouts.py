"""Rollouts, read."""

from datetime import datetime

from django.db.models import Count, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from apps.common.due import is_due, is_free
from apps.deployments.errors import RolloutUnknown
from apps.deployments.models import Placement, Rollout, Run, StepRun
from apps.deployments.selectors.placements import without_large
from apps.deployments.states import ACTIVE_ROLLOUT, MOVING_ROLLOUT, RolloutKind, RolloutState, RunDirection, RunState


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


def _counted(runs: QuerySet[Run]) -> Coalesce:
    return Coalesce(Subquery(runs.order_by().values("rollout").annotate(runs=Count("pk")).values("runs")), 0)


def get_rollout(rollout_id: int) -> Rollout:
    """One rollout with its runs and their steps, or RolloutUnknown."""
    steps = Prefetch("steps", queryset=StepRun.objects.order_by("position", "pk"))
    runs = Prefetch(
        "runs", queryset=Run.objects.select_related("server").prefetch_related(steps).order_by("direction", "position")
    )
    found = rollouts().filter(pk=rollout_id).prefetch_related(runs).first()
    if found is None:
        raise RolloutUnknown(f"there is no rollout {rollout_id}")
    return found


def get_run(run_id: int) -> Run:
    """One run with its rollout: enough to see whether it is still wanted and what is next."""
    return Run.objects.select_related("rollout").get(pk=run_id)


def state_of(rollout_id: int) -> str:
    """A rollout's state, in the cheapest query there is; for waiting on it."""
    state = Rollout.objects.values_list("state", flat=True).filter(pk=rollout_id).first()
    if state is None:
        raise RolloutUnknown(f"there is no rollout {rollout_id}")
    return state


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
    due = Run.objects.filter(is_due("due_at", now), is_free(now), state=RunState.RUNNING)
    return list(due.values_list("pk", flat=True))


def expired_standbys(now: datetime) -> list[Placement]:
    """Placements whose standby has been kept long enough; a hold keeps the way back too."""
    return list(
        Placement.objects.select_related("environment", "model", "active", "standby")
        .filter(standby__isnull=False, standby_until__lte=now, held_at=None)
        .exclude(rollouts__state__in=ACTIVE_ROLLOUT)
    )


def last_live(placement: Placement) -> Rollout | None:
    """The rollout that made the active version live."""
    made = rollouts().filter(placement=placement, to_version=placement.active, state=RolloutState.SUCCEEDED)
    moves_nothing = (RolloutKind.RETIRE, RolloutKind.RECONFIGURE, RolloutKind.HEAL)
    return made.exclude(kind__in=moves_nothing).first()
