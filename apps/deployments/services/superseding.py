"""Taking over from a rollout that moves: a rollback waits for nothing but a worker's call that is under way."""

from datetime import datetime

from django.db.models import Q

from apps.common.dispatch import wake
from apps.common.due import is_free
from apps.common.keeping import error_document
from apps.common.transitions import try_move
from apps.deployments.errors import Superseded
from apps.deployments.models import Rollout, Run, StepRun
from apps.deployments.policy import wave_of
from apps.deployments.services.retired import make_runs
from apps.deployments.services.together import leave_release
from apps.deployments.states import ACTIVE_RUN, RolloutState, RunState, StepState
from apps.fleet.models import Server
from apps.fleet.states import ServerState

OPEN_STEP = (StepState.RUNNING, StepState.WAITING)


def supersede(moving: Rollout, *, why: str, now: datetime) -> set[int]:
    """End it, in the caller's transaction; the keys of the servers on which a worker is in the middle of a step.

    That worker is turned away after the step. Everywhere else the way is free at once.
    """
    error = error_document(Superseded(why))
    if not try_move(moving, RolloutState.FAILED, finished_at=now, error=error):
        return set()
    leave_release(moving, error, now=now)
    free = Q(state=RunState.QUEUED) | Q(state=RunState.RUNNING) & is_free(now)
    freed = list(Run.objects.select_for_update().filter(free, rollout=moving).values_list("pk", flat=True))
    StepRun.objects.filter(run__in=freed, state__in=OPEN_STEP).update(
        state=StepState.FAILED, error=error, finished_at=now
    )
    Run.objects.filter(pk__in=freed).update(state=RunState.CANCELLED, finished_at=now, error=error, waiting_for="")
    return set(moving.runs.filter(state__in=ACTIVE_RUN).values_list("server_id", flat=True))


def start_late(rollout: Rollout, *, now: datetime) -> bool:
    """Start the runs that had to wait for a worker; True when none is left to start.

    Not on a server that has been retired meanwhile; one that was left out since (`leaving_out`) gets none again either.
    """
    left_out = rollout.plan.get("left_out", ())
    late = {name: recipe for name, recipe in rollout.plan.get("late", {}).items() if name not in left_out}
    in_fleet = Server.objects.exclude(state=ServerState.RETIRED)
    servers = in_fleet.filter(name__in=late).exclude(runs__rollout=rollout) if late else []
    busy = set(
        Run.objects.filter(model=rollout.placement.model_id, state__in=ACTIVE_RUN).values_list("server_id", flat=True)
        if late
        else ()
    )
    free = [server for server in servers if server.pk not in busy]
    for run in make_runs(_late_run(rollout, server, late[server.name], now=now) for server in free):
        wake("conch.advance_run", run_id=run.pk)
    return not any(server.pk in busy for server in servers)


def _late_run(rollout: Rollout, server: Server, recipe: list[str], *, now: datetime) -> Run:
    position, has_waves = rollout.plan["servers"].index(server.name), rollout.goes_in_waves
    return Run(
        rollout=rollout,
        server=server,
        model_id=rollout.placement.model_id,
        position=position,
        wave=wave_of(rollout.plan.get("waves", ()), position),
        state=RunState.QUEUED if has_waves else RunState.RUNNING,
        started_at=None if has_waves else now,
        recipe=recipe,
    )
