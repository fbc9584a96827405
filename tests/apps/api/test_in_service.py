"""Drift, reconciling and being in service over the wire."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.deployments.models import Drift
from apps.fleet.models import ObservedVersion, Server
from tests.apps.api import rows

pytestmark = pytest.mark.django_db


def whole(name: str = "t1", *, models: int = 1) -> Server:
    """A server that serves everything that its environment should have."""
    server = rows.server(name)
    for number in range(models):
        placed = rows.placement(f"m{number}", active=rows.version(1, of=f"m{number}"))
        ObservedVersion.objects.create(
            server=server, model=placed.model.name, version=1, state="READY", since=timezone.now()
        )
    return server


def test_a_whole_server_is_in_service(ci: Client) -> None:
    whole()

    answer = ci.get("/api/v1/servers/t1/in-service")

    assert answer.status_code == 200
    assert (answer.json()["in_service"], answer.json()["reasons"]) == (True, [])


def test_a_server_that_lacks_a_model_is_not_and_says_which(ci: Client) -> None:
    whole()
    ObservedVersion.objects.update(state="UNAVAILABLE", reason="unloaded")

    answer = ci.get("/api/v1/servers/t1/in-service")

    assert answer.status_code == 503
    assert answer.json()["reasons"] == ["m0 1 is UNAVAILABLE: unloaded"]


@pytest.mark.parametrize("models", [1, 30])
def test_asking_costs_the_same_with_few_models_and_many(ci: Client, models: int) -> None:
    whole(models=models)
    ci.get("/api/v1/me")

    with CaptureQueriesContext(connection) as queries:
        answer = ci.get("/api/v1/servers/t1/in-service")

    assert (answer.status_code, len(queries)) == (200, 5)


def test_the_load_balancers_token_opens_this_and_nothing_else(script: Callable[..., Client]) -> None:
    whole()
    balancer = script("in-service:read")

    assert balancer.get("/api/v1/servers/t1/in-service").status_code == 200
    assert balancer.get("/api/v1/servers/t1").status_code == 403


def test_drift_is_listed_with_since_when_and_what_is_done(ci: Client) -> None:
    server, since = whole(), timezone.now()
    kept = {"server": server, "model": "m0", "since": since}
    Drift.objects.create(version=1, kind="missing", why_not="t1 is cordoned", **kept)
    Drift.objects.create(version=2, kind="extra", ended_at=since, **kept)

    (now,) = ci.get("/api/v1/drift?environment=prod").json()["results"]
    every = ci.get("/api/v1/drift?ended=true&server=t1").json()["results"]

    assert (now["server"], now["kind"], now["why_not"]) == ("t1", "missing", "t1 is cordoned")
    assert len(every) == 2
    assert ci.get("/api/v1/drift?environment=staging").json()["results"] == []


def test_a_servers_drift_says_since_when(ci: Client) -> None:
    server = whole()
    ObservedVersion.objects.all().delete()
    Drift.objects.create(server=server, model="m0", version=1, kind="missing", since=timezone.now())

    (one,) = ci.get("/api/v1/servers/t1").json()["drift"]

    assert (one["model"], one["version"], one["kind"]) == ("m0", 1, "missing")
    assert one["since"] is not None


def test_reconciling_is_asked_for_and_kept_until_it_is_done(ci: Client) -> None:
    whole()

    answer = ci.post("/api/v1/servers/t1/reconcile")

    assert answer.status_code == 202
    assert Server.objects.get(name="t1").reconcile_asked_at is not None


def test_a_viewer_cannot_reconcile(script: Callable[..., Client]) -> None:
    whole()

    assert script("read").post("/api/v1/servers/t1/reconcile").status_code == 403
