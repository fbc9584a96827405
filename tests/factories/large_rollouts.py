"""A rollout over more servers than a page shows."""

from datetime import timedelta

from django.utils import timezone

from apps.deployments.models import Rollout, Run, StepRun
from tests.factories.fleets import FAILED, SAID, STEPS, FleetRows

SERVERS = 120


def over_many_servers(rows: FleetRows, environment: str = "prod") -> Rollout:
    """One in two waves that goes on: the last server of the first failed, some of the second are changing."""
    rows.model("large")
    rows.version("large", 1)
    names = [f"many-{n:03}" for n in range(SERVERS)]
    plan = {"servers": names, "waves": [60, 60]}
    now, placement = timezone.now(), rows.placed("large", environment, None)
    version = rows.versions["large", 1]
    rollout = Rollout.objects.create(
        placement=placement, kind="promote", state="running", to_version=version, plan=plan, wave=1, actor="ci-main"
    )
    servers = [rows.server(name, environment) for name in names]
    runs = Run.objects.bulk_create(
        Run(
            rollout=rollout,
            server=server,
            model=version.model,
            position=position,
            wave=position // 60,
            state=_state(position),
            recipe=list(STEPS),
            started_at=None if position >= 65 else now - timedelta(seconds=90),
            finished_at=now if position < 60 else None,
        )
        for position, server in enumerate(servers)
    )
    StepRun.objects.bulk_create(step for run in runs for step in _steps(run))
    return rollout


def _state(position: int) -> str:
    if position == 59:
        return "failed"
    return "succeeded" if position < 59 else "running" if position < 65 else "queued"


def _steps(run: Run) -> list[StepRun]:
    begun = {"succeeded": STEPS, "failed": STEPS[:3], "running": STEPS[:4]}.get(run.state, ())
    now = timezone.now()
    last = {"succeeded": "succeeded", "failed": "failed", "running": "waiting"}.get(run.state, "")
    return [
        StepRun(
            run=run,
            name=name,
            position=position,
            state="succeeded" if name != begun[-1] else last,
            detail=SAID.get(name, {}),
            error=FAILED if (name, last) == (begun[-1], "failed") else {},
            started_at=now - timedelta(seconds=60),
            finished_at=now if name != begun[-1] or last != "waiting" else None,
        )
        for position, name in enumerate(begun)
    ]
