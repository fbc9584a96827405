"""Fills a database with a fleet that simulated servers stand behind. Runs inside Django."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import services
from apps.deployments.models import Placement
from apps.fleet import services as fleet
from apps.fleet.models import Environment, Repository, Server
from apps.registry.models import Artifact, Model, Version
from apps.serving.backends import get
from tests.factories.triton_models import config_text

ENVIRONMENT = "prod"
MOST_AT_ONCE = 1_000


def fill(plan: str) -> None:
    """Environment, repository, servers as if introduced, and models with one version that is live everywhere."""
    asked: Mapping[str, Any] = json.loads(Path(plan).read_text())
    services.add_environment(COMMAND, name=ENVIRONMENT, rank=1, waves=["100%"], parallel=MOST_AT_ONCE)
    fleet.add_repository(COMMAND, name=ENVIRONMENT, environment=ENVIRONMENT, path=asked["repository"])
    environment, repository = Environment.objects.get(), Repository.objects.get()
    Server.objects.bulk_create(
        Server(environment=environment, repository=repository, state="active", created_by="bench", **addresses)
        for addresses in asked["servers"]
    )
    for name in asked["models"]:
        _place(name, environment)


def _place(name: str, environment: Environment) -> None:
    model = Model.objects.create(name=name, owner="bench")
    config = get("triton").CONFIG.parse(config_text(name))
    artifact, _ = Artifact.objects.get_or_create(digest="0" * 64, defaults={"size_bytes": 1, "unpacked_bytes": 1})
    version = Version.objects.create(
        model=model,
        number=1,
        state="ready",
        artifact=artifact,
        size_bytes=1,
        config=dict(config.document),
        config_text=config_text(name),
        ready_at=timezone.now(),
        created_by="bench",
    )
    Placement.objects.create(environment=environment, model=model, active=version)


def look(out: str) -> None:
    """Rows per table, and a session that may look at pages."""
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(User.objects.get(username="admin"))
    rows = {model._meta.label: model._default_manager.count() for model in apps.get_models()}  # noqa: SLF001
    rows.pop("sessions.Session")
    Path(out).write_text(json.dumps({"rows": rows, "session": client.cookies["sessionid"].value}))
