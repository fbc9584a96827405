"""Fills a database with a fleet of a given size, straight through the models. Runs inside Django."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.utils import timezone

from apps.deployments.models import Overlay, Placement
from apps.fleet.models import Environment, Observation, ObservedVersion, Repository, Server
from apps.registry.models import Alias, Artifact, Model, Sample, Version
from bench.crowd_past import roll_out, surround
from bench.crowd_sizes import TENSOR, VERSIONS, Size
from bench.rows import create_all
from tests.factories.triton_models import config_text

ENVIRONMENTS = ("staging", "prod")
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
    roll_out(had.rows, size, now)
    surround(had.rows, size.history, now)


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
    create_all(ObservedVersion, rows)
