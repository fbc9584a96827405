"""Fills a database with a fleet of a given size, straight through the models. Runs inside Django."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TypeVar

from django.contrib.auth.models import User
from django.db.models import Model as Row
from django.utils import timezone

from apps.access.models import ApiToken
from apps.audit.models import Event
from apps.deployments.models import Ban, Overlay, Placement, Probe, Rollout, Run, StepRun, Trial
from apps.fleet.models import Environment, Observation, ObservedVersion, Repository, Server
from apps.registry.models import Alias, Artifact, Model, Sample, Version
from bench.crowd_sizes import Size
from tests.factories.triton_models import config_text

R = TypeVar("R", bound=Row)
ENVIRONMENTS = ("staging", "prod")
VERSIONS = 3
STEPS = ("preflight", "publish", "shadow", "load", "await_ready", "verify", "expose")
TENSOR = {"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 1, 1, 1]}
SIGNATURE = {
    "inputs": [{"name": "x", "datatype": "FP32", "shape": [4]}],
    "outputs": [{"name": "echo", "datatype": "FP32", "shape": [4]}],
    "max_batch_size": 8,
}
CONFIG = {"name": "m", "backend": "python", "max_batch_size": 8}


def grow(size: Size) -> None:
    """Add what is missing up to that size; a database that was empty or grown by this."""
    now = timezone.now()
    had = Size(Model.objects.count(), Server.objects.count())
    environments = _environments()
    _servers(range(had.servers, size.servers), environments, now)
    models = _models(range(had.models, size.models), now)
    versions = _versions(models, now)
    _placements(models, environments, versions, now)
    _overlays(models, now)
    _observe(size, now)
    _roll_out(had.rows, size, now)
    _around(had.rows, size.history, now)


def _environments() -> list[Environment]:
    for rank, name in enumerate(ENVIRONMENTS):
        environment, _ = Environment.objects.get_or_create(name=name, defaults={"rank": rank})
        Repository.objects.get_or_create(name=name, defaults={"environment": environment, "path": f"/srv/{name}"})
    return list(Environment.objects.order_by("rank"))


def _servers(numbers: Iterable[int], environments: list[Environment], now: datetime) -> None:
    for number in numbers:
        environment = environments[number % len(environments)]
        server = Server.objects.create(
            name=f"server-{number}",
            environment=environment,
            repository=environment.repositories.get(),
            grpc=f"127.0.0.1:{1_000 + number}",
            http=f"127.0.0.1:{2_000 + number}",
            metrics=f"127.0.0.1:{3_000 + number}",
            state="active",
            finding={"version": "2.51.0"},
            created_by="bench",
        )
        Observation.objects.create(
            server=server, at=now, seen_at=now, since=now, is_reachable=True, is_ready=True, server_version="2.51.0"
        )


def _models(numbers: Iterable[int], now: datetime) -> list[Model]:
    models = [
        Model(name=f"model-{number:04}", owner="vision", tags=["bench"], slo_p99_ms=50, created_at=now)
        for number in numbers
    ]
    return Model.objects.bulk_create(models)


def _versions(models: list[Model], now: datetime) -> dict[int, list[Version]]:
    artifact, _ = Artifact.objects.get_or_create(
        digest="0" * 64,
        defaults={
            "size_bytes": 900,
            "unpacked_bytes": 1_200,
            "files": [{"path": "version/model.py", "size_bytes": 1_200, "sha256": "0" * 64}],
        },
    )
    made = Version.objects.bulk_create(
        [_version(model, number, artifact, now) for model in models for number in range(1, VERSIONS + 1)]
    )
    Alias.objects.bulk_create(
        [Alias(model=version.model, name="champion", version=version) for version in made if version.number == VERSIONS]
    )
    Sample.objects.bulk_create(
        [Sample(model=model, name=f"s{n}", inputs=[TENSOR], outputs=[TENSOR]) for model in models for n in range(3)]
    )
    return {model.pk: [version for version in made if version.model_id == model.pk] for model in models}


def _version(model: Model, number: int, artifact: Artifact, now: datetime) -> Version:
    return Version(
        model=model,
        number=number,
        state="ready",
        artifact=artifact,
        digest=artifact.digest,
        size_bytes=900,
        filename="model.zip",
        backend="python",
        config_text=config_text(model.name),
        config=CONFIG,
        signature=SIGNATURE,
        created_at=now,
        ready_at=now,
        created_by="bench",
    )


def _placements(
    models: list[Model], environments: list[Environment], versions: dict[int, list[Version]], now: datetime
) -> None:
    Placement.objects.bulk_create(
        [
            Placement(
                environment=environment,
                model=model,
                active=versions[model.pk][-1],
                standby=versions[model.pk][-2],
                standby_until=now + timedelta(hours=10),
            )
            for model in models
            for environment in environments
        ]
    )


def _overlays(models: list[Model], now: datetime) -> None:
    """Three on every new placement, none of them in force."""
    Overlay.objects.bulk_create(
        [
            Overlay(
                placement=placement,
                number=number,
                document={"dynamic_batching": {"max_queue_delay_microseconds": 100 * number}},
                created_at=now,
            )
            for placement in Placement.objects.filter(model__in=models)
            for number in range(1, VERSIONS + 1)
        ]
    )


def _observe(size: Size, now: datetime) -> None:
    """Both live versions of every model on every server; every seventh row tells of a drift."""
    known = set(ObservedVersion.objects.values_list("server_id", "model", "version"))
    names = list(Model.objects.order_by("pk").values_list("name", flat=True))[: size.models]
    rows = (
        ObservedVersion(
            server_id=server_id,
            model=name,
            version=number,
            state="UNAVAILABLE" if position % 7 == 0 else "READY",
            reason="unloaded" if position % 7 == 0 else "",
            since=now,
            loaded_stamp_ns=1,
            seen_stamp_ns=1,
        )
        for server_id in Server.objects.order_by("pk").values_list("pk", flat=True)
        for position, name in enumerate(names)
        for number in (VERSIONS - 1, VERSIONS)
        if (server_id, name, number) not in known
    )
    _create_all(ObservedVersion, rows)


def _roll_out(had: int, size: Size, now: datetime) -> None:
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
        reason="bench",
        actor="bench",
        actor_kind="token",
        created_at=at,
        started_at=at,
        finished_at=ended,
    )
    state = "running" if is_moving else "succeeded"
    runs = Run.objects.bulk_create(
        [
            Run(
                rollout=rollout,
                server=server,
                model_id=placement.model_id,
                position=position,
                state=state,
                recipe=list(STEPS),
                started_at=at,
                finished_at=ended,
            )
            for position, server in enumerate(placement.environment.servers.order_by("pk"))
        ]
    )
    StepRun.objects.bulk_create(
        [
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
        ]
    )


def _around(had: int, rows: int, now: datetime) -> None:
    """One audit event and one probe per row, a token and an account per ten."""
    placement, server = Placement.objects.order_by("pk")[0], Server.objects.order_by("pk")[0]
    events = (
        Event(
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
        for n in range(had, rows)
    )
    _create_all(Event, events)
    probes = (
        Probe(
            placement=placement, server=server, version=VERSIONS, kind="warmup", at=now, has_passed=True, latency_us=900
        )
        for _ in range(had, rows)
    )
    _create_all(Probe, probes)
    trials = (
        Trial(model=placement.model, version=VERSIONS, server=server, state="answered", inputs=[TENSOR], created_by="b")
        for _ in range(had, rows)
    )
    _create_all(Trial, trials)
    version = Version.objects.filter(model=placement.model).order_by("number")[0]
    digests = {"artifact_digest": version.digest, "config_digest": "1" * 64}
    bans = (
        Ban(
            placement=placement,
            version=version,
            reason="bench",
            actor="bench",
            actor_kind="token",
            lifted_at=now,
            **digests,
        )
        for _ in range(had // 10, rows // 10)
    )
    _create_all(Ban, bans)
    tens = range((had + 9) // 10, rows // 10)
    _create_all(User, (User(username=f"person-{n}") for n in tens))
    _create_all(
        ApiToken, (ApiToken(name=f"ci-{n}", digest=f"{n:064}", scopes=["read"], issued_by="bench") for n in tens)
    )


def _create_all(kind: type[R], rows: Iterable[R]) -> None:
    kind._default_manager.bulk_create(rows, batch_size=500)  # noqa: SLF001 - the only name that every model has
