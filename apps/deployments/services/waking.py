"""Asking workers to go on: as few messages as do, however many servers are on their way at once."""

from datetime import datetime, timedelta

from django.db.models import Q

from apps.common.dispatch import wake
from apps.deployments.healing import ITS_TURN, MEMBERS_FIRST
from apps.deployments.models import Drift, Rollout, Run
from apps.deployments.selectors.releases import BARRIER
from apps.deployments.selectors.rollouts import due_runs
from apps.deployments.states import RunDirection, RunState, StepState

# A message that is not taken up for so long is taken for lost: at least, and for each run that waits like this one.
LOST_AFTER = timedelta(seconds=2)
TURN = timedelta(seconds=0.1)
# Servers in one message, as in a round of observing.
MOST_LOOKED_AT = 50


def wake_run(run: Run, *, after_s: float = 0) -> None:
    """Have the run walked. What goes forward stands behind: whoever goes back must not wait for it."""
    is_going_back = run.direction == RunDirection.REVERT or run.rollout.is_going_back
    wake("conch.advance_run", after_s=after_s, is_behind=not is_going_back, run_id=run.pk)


def wake_rollout(rollout_id: int, *, now: datetime, after_s: float = 0) -> None:
    """Have the rollout looked at, once for many runs that end in a burst: one look tallies all of them.

    Called after the run's end is committed. Whoever looks takes `is_woken` back before it tallies (`advance_rollout`):
    so it either sees that end, or is woken here once more. A message that is lost leaves the rollout due.
    """
    if Rollout.objects.filter(pk=rollout_id, is_woken=False).update(is_woken=True, due_at=now):
        wake("conch.advance_rollout", after_s=after_s, rollout_id=rollout_id)


def look_for_those_who_wait(heal: Rollout) -> None:
    """A heal has ended: where other models waited for it, their servers are looked at now."""
    waits = Q(why_not=ITS_TURN) | Q(why_not__startswith=MEMBERS_FIRST)
    servers = Drift.objects.filter(waits, server__runs__rollout=heal, ended_at=None).order_by("server_id")
    ids = list(servers.values_list("server_id", flat=True).distinct())
    for start in range(0, len(ids), MOST_LOOKED_AT):
        wake("conch.observe_servers", server_ids=ids[start : start + MOST_LOOKED_AT])


def wake_at_barrier(run: Run, *, now: datetime) -> None:
    """All runs of a release have come to its barrier: those that wait there for their next look have it now."""
    waiting = Run.objects.filter(steps__name=BARRIER, steps__state=StepState.WAITING, state=RunState.RUNNING)
    waiting = waiting.filter(rollout__release=run.rollout.release_id, due_at__gt=now)
    found = list(waiting.values_list("pk", flat=True))
    Run.objects.filter(pk__in=found, due_at__gt=now).update(due_at=now, woken_at=now)
    for pk in found:
        wake("conch.advance_run", is_behind=True, run_id=pk)


def runs_to_wake(now: datetime) -> list[int]:
    """Running runs that are due, that no worker holds, and whose last message must be lost by now."""
    woken = list(Run.objects.filter(pk__in=due_runs(now)).order_by("pk").values_list("pk", "woken_at"))
    lost_since = now - max(LOST_AFTER, len(woken) * TURN)
    # One that lies ahead was written by a clock that was: it says nothing.
    lost = [pk for pk, woken_at in woken if not lost_since < woken_at <= now]
    Run.objects.filter(pk__in=lost).update(woken_at=now)
    return lost
