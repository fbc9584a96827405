"""Healing: bringing back on some servers what is desired there; it never stands in anybody's way."""

from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone

from apps.audit.services import record
from apps.common.actor import CLOCK
from apps.common.dispatch import wake
from apps.deployments import plan
from apps.deployments.errors import NoServers, PlacementChanged, RolloutActive
from apps.deployments.models import Placement, Rollout, Run
from apps.deployments.services.beginning import begin
from apps.deployments.services.retired import make_runs
from apps.deployments.states import ACTIVE_RUN, RolloutKind, RolloutState, RunState
from apps.fleet.models import Server


def heal(placement: Placement, servers: Sequence[Server], *, reason: str) -> Rollout | None:
    """Load what is desired on these servers; None when somebody was faster, or something else is moving it."""
    try:
        return begin(
            CLOCK,
            placement,
            RolloutKind.HEAL,
            list(servers),
            to=placement.active,
            reason=reason,
            # What pushed the desired version out was not placed by anybody.
            confirm=("unplaced",),
        )
    except RolloutActive:
        return _join(placement, servers, reason=reason)
    except (PlacementChanged, NoServers):
        return None


@transaction.atomic
def _join(placement: Placement, servers: Sequence[Server], *, reason: str) -> Rollout | None:
    """Heal these along with others: one server that hangs keeps its heal going for as long as a load may take."""
    healing = Rollout.objects.select_for_update().filter(
        placement=placement, kind=RolloutKind.HEAL, state=RolloutState.RUNNING
    )
    rollout = healing.first()
    if rollout is None:
        return None
    now, position = timezone.now(), rollout.runs.count()
    busy = Run.objects.filter(server__in=servers, model=placement.model_id, state__in=ACTIVE_RUN)
    there = set(busy.values_list("server", flat=True))
    runs = make_runs(
        Run(
            rollout=rollout,
            server=server,
            model_id=placement.model_id,
            position=position + further,
            state=RunState.RUNNING,
            started_at=now,
            recipe=list(plan.HEAL),
        )
        for further, server in enumerate(server for server in servers if server.pk not in there)
    )
    if runs:
        _tell(rollout, placement, runs, reason=reason)
    return rollout if runs else None


def _tell(rollout: Rollout, placement: Placement, runs: Sequence[Run], *, reason: str) -> None:
    names = [run.server.name for run in runs]
    every = list(dict.fromkeys([*rollout.plan["servers"], *names]))
    Rollout.objects.filter(pk=rollout.pk).update(plan={**rollout.plan, "servers": every, "waves": [len(every)]})
    record(
        CLOCK,
        "heal_more",
        subject_kind="rollout",
        subject=str(rollout.pk),
        environment=placement.environment.name,
        model=placement.model.name,
        reason=reason,
        servers=names,
    )
    for run in runs:
        wake("conch.advance_run", run_id=run.pk)
