"""What has happened to a fleet made of rows: rollouts that ended, and versions that have passed their shadow."""

from datetime import datetime, timedelta

from django.utils import timezone

from apps.deployments.models import Judgement, Placement, Rollout, Run, StepRun
from tests.factories.fleets import FleetRows


def passed_shadow(rows: FleetRows, number: int, *, model: str = "digits", environment: str = "prod") -> Rollout:
    """A rollout in which a version passed its shadow and went live."""
    rollout = Rollout.objects.create(
        placement=rows.placements[model, environment],
        kind="promote",
        state="succeeded",
        to_version=rows.versions[model, number],
        finished_at=timezone.now() - timedelta(hours=1),
        actor="ci",
        actor_kind="token",
    )
    server = next(one for one in rows.servers.values() if one.environment.name == environment)
    run = Run.objects.create(rollout=rollout, server=server, model=rows.models[model], state="succeeded")
    StepRun.objects.create(run=run, name="shadow", position=2, state="succeeded", started_at=timezone.now())
    return rollout


def went_live(rows: FleetRows, number: int, *, before: int, model: str = "digits", environment: str = "prod") -> None:
    """`number` is live there now, `before` is kept hot below it; both have passed."""
    for one in (before, number):
        passed_shadow(rows, one, model=model, environment=environment)
    versions = rows.versions
    Placement.objects.filter(pk=rows.placements[model, environment].pk).update(
        active=versions[model, number], standby=versions[model, before], standby_until=timezone.now()
    )
    for server in rows.servers.values():
        rows.observed(server.name, model, number)
        rows.observed(server.name, model, before)


def live_since(rows: FleetRows, model: str, environment: str, number: int, at: datetime) -> Rollout:
    """A version that was promoted there at a moment, and nothing since."""
    placement, _ = Placement.objects.get_or_create(model=rows.models[model], environment=rows.environments[environment])
    Rollout.objects.filter(placement=placement).delete()
    return Rollout.objects.create(
        placement=placement,
        kind="promote",
        state="succeeded",
        to_version=rows.versions[model, number],
        finished_at=at,
        actor="ci",
        actor_kind="token",
    )


def baking(rollout: Rollout) -> None:
    """The rollout as one in two waves that bakes, with a gate that has failed once and one that was not judged."""
    gates = [
        {"name": "p99", "signal": "latency_quantile", "limit": 60, "failure_limit": 2},
        {"name": "errors", "signal": "error_ratio", "limit": 0.01},
    ]
    Rollout.objects.filter(pk=rollout.pk).update(
        policy={"waves": [1, "100%"], "bake_s": 60, "gates": gates},
        plan={**rollout.plan, "waves": [1, 1]},
        baking_since=timezone.now(),
    )
    Judgement.objects.create(
        rollout=rollout,
        gate="p99",
        wave=0,
        at=timezone.now(),
        verdict="fail",
        value=181.2,
        threshold=60,
        samples=512,
        synthetic=40,
        queries=[
            'max by (version, quantile) (last_over_time(nv_inference_request_summary_us{model="digits"}[60s])) / 1000'
        ],
    )
