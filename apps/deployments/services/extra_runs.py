"""Runs that a rollout makes on its way: putting servers back, and writing down what now serves."""

from collections.abc import Iterable
from datetime import datetime

from apps.common.dispatch import wake
from apps.deployments import plan
from apps.deployments.models import Rollout, Run
from apps.deployments.services.retired import make_runs
from apps.deployments.states import ACTIVE_RUN, RunDirection, RunState
from apps.fleet.states import ServerState


def settle(rollout: Rollout, now: datetime) -> bool:
    """Write what now serves into each repository, once, on its first server that changed and is still in the fleet.

    True when all is written.
    """
    first: dict[int, int] = {}
    changed = rollout.runs.filter(direction=RunDirection.FORWARD, state=RunState.SUCCEEDED)
    changed = changed.exclude(server__state=ServerState.RETIRED)
    for pk, repository_id in changed.order_by("position").values_list("pk", "server__repository_id"):
        first.setdefault(repository_id, pk)
    settling = list(rollout.runs.filter(direction=RunDirection.SETTLE))
    like = list(rollout.runs.filter(pk__in=first.values()).select_related("server").order_by("position"))
    settling += start_missing(rollout, RunDirection.SETTLE, list(plan.SETTLE), like=like, there=settling, now=now)
    # One that was retired in this moment is not it: the next look takes another of its repository.
    is_begun = {run.server_id for run in like} <= {run.server_id for run in settling}
    return is_begun and not any(run.state in ACTIVE_RUN for run in settling)


def start_missing(
    rollout: Rollout,
    direction: RunDirection,
    recipe: list[str],
    *,
    like: Iterable[Run],
    there: Iterable[Run],
    now: datetime,
) -> list[Run]:
    """A run of that direction for every server of `like` that has none `there` yet; those that were made.

    None for one that has been retired meanwhile, even in this moment: nobody serves from it, and perhaps it is no more.
    """
    have = {run.server_id for run in there}
    made = make_runs(
        Run(
            rollout=rollout,
            server=run.server,
            model_id=run.model_id,
            direction=direction,
            position=run.position,
            wave=run.wave,
            state=RunState.RUNNING,
            started_at=now,
            recipe=recipe,
        )
        for run in like
        if run.server_id not in have and run.server.state != ServerState.RETIRED
    )
    for run in made:
        wake("conch.advance_run", run_id=run.pk)
    return made
