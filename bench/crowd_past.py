"""What has happened in the crowd's fleet: rollouts, events, requests, people. Runs inside Django."""

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User

from apps.access.models import ApiToken
from apps.audit.models import Event
from apps.deployments.models import Ban, Placement, Probe, Release, Rollout, Run, StepRun, Trial
from apps.deployments.policy import Policy
from apps.fleet.models import Server
from apps.registry.models import Model, Version
from bench.crowd_sizes import TENSOR, VERSIONS, Size
from bench.rows import create_all

STEPS = ("preflight", "publish", "shadow", "load", "await_ready", "verify", "expose")


def roll_out(had: int, size: Size, now: datetime) -> None:
    """One rollout per row: a tenth of them of the first model, one in a hundred still moving, the rest over all."""
    placements = list(Placement.objects.select_related("environment", "model").order_by("pk"))
    versions = {(v.model_id, v.number): v for v in Version.objects.only("pk", "model_id", "number")}
    taken = set(Rollout.objects.filter(state="running").values_list("placement_id", flat=True))
    for number in range(had, size.history):
        placement = placements[0] if number % 10 == 0 else placements[number % len(placements)]
        is_moving = number % 100 == 5 and placement.pk not in taken
        if is_moving:
            taken.add(placement.pk)
        _rollout(placement, versions, is_moving=is_moving, at=now - timedelta(minutes=size.history - number))


def _rollout(placement: Placement, versions: dict[tuple[int, int], Version], *, is_moving: bool, at: datetime) -> None:
    ended = None if is_moving else at + timedelta(seconds=30)
    rollout = Rollout.objects.create(
        placement=placement,
        kind="promote",
        state="running" if is_moving else "succeeded",
        from_version=versions[placement.model_id, VERSIONS - 1],
        to_version=versions[placement.model_id, VERSIONS],
        plan={"hot": [], "confirmed": [], "servers": []},
        policy=Policy().document(),
        reason="bench",
        actor="bench",
        actor_kind="token",
        created_at=at,
        started_at=at,
        finished_at=ended,
    )
    _runs(rollout, is_moving=is_moving, at=at, ended=ended)


def _runs(rollout: Rollout, *, is_moving: bool, at: datetime, ended: datetime | None) -> None:
    """On every server of the environment, with the steps they have come to."""
    placement = rollout.placement
    runs = Run.objects.bulk_create(
        Run(
            rollout=rollout,
            server=server,
            model_id=placement.model_id,
            position=position,
            state="running" if is_moving else "succeeded",
            recipe=list(STEPS),
            started_at=at,
            finished_at=ended,
        )
        for position, server in enumerate(placement.environment.servers.order_by("pk"))
    )
    StepRun.objects.bulk_create(
        StepRun(
            run=run,
            name=name,
            position=position,
            state="succeeded",
            detail={"latencies_us": [900, 800], "golden": 3, "warmup": []} if name == "shadow" else {},
            started_at=at,
            finished_at=at,
        )
        for run in runs
        for position, name in enumerate(STEPS[:2] if is_moving else STEPS)
    )


def surround(had: int, rows: int, now: datetime) -> None:
    """One audit event, one probe and one trial per row; a ban, a release, a token and an account per ten."""
    placement, server = Placement.objects.order_by("pk")[0], Server.objects.order_by("pk")[0]
    create_all(Event, (_event(n, now) for n in range(had, rows)))
    create_all(Probe, (_probe(placement, server, now) for _ in range(had, rows)))
    create_all(Trial, (_trial(placement, server) for _ in range(had, rows)))
    _undo(placement, had // 10, rows // 10, now)
    tens = range((had + 9) // 10, rows // 10)
    create_all(User, (User(username=f"person-{n}") for n in tens))
    create_all(
        ApiToken, (ApiToken(name=f"ci-{n}", digest=f"{n:064}", scopes=["read"], issued_by="bench") for n in tens)
    )


def _event(n: int, now: datetime) -> Event:
    return Event(
        at=now - timedelta(seconds=n),
        verb="promote",
        actor_kind="token",
        actor="bench",
        door="rest",
        subject_kind="rollout",
        subject=str(n + 1),
        environment="prod",
        model=f"model-{n % 100:04}",
        reason="bench",
    )


def _probe(placement: Placement, server: Server, now: datetime) -> Probe:
    return Probe(
        placement=placement, server=server, version=VERSIONS, kind="warmup", at=now, has_passed=True, latency_us=900
    )


def _trial(placement: Placement, server: Server) -> Trial:
    model = placement.model
    return Trial(model=model, version=VERSIONS, server=server, state="answered", inputs=[TENSOR], created_by="b")


def _undo(placement: Placement, had: int, rows: int, now: datetime) -> None:
    """Bans that were lifted, and releases that have passed."""
    by: dict[str, Any] = {"actor": "bench", "actor_kind": "token"}
    version = Version.objects.filter(model=placement.model).order_by("number")[0]
    banned: dict[str, Any] = {"artifact_digest": version.digest, "config_digest": "1" * 64, "version": version}
    bans = (Ban(placement=placement, reason="bench", lifted_at=now, **banned, **by) for _ in range(had, rows))
    create_all(Ban, bans)
    models = list(Model.objects.order_by("pk").values_list("name", flat=True)[:5])
    together = {"environment": placement.environment, "items": dict.fromkeys(models, VERSIONS)}
    create_all(Release, (Release(decision="go", decided_at=now, **together, **by) for _ in range(had, rows)))
