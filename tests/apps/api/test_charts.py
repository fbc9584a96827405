"""Charts over REST."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from apps.metrics.catalogue import CHARTS
from apps.registry.models import Model
from demo.parts.ports import free_port
from tests.apps.metrics.conftest import scripted  # noqa: F401
from tests.apps.metrics.doubles import Asked, ScriptedPrometheus, matrix

pytestmark = pytest.mark.django_db


@pytest.fixture
def visitor(client: Client) -> Client:
    """Somebody signed in."""
    client.force_login(User.objects.create_superuser("ann"))
    return client


def steady(asked: Asked) -> dict[str, Any]:
    """One version at 0.02 from start to end, on a server that is up."""
    start, end, step = (int(asked.parameters[name]) for name in ("start", "end", "step"))
    points = [(float(second), "0.02") for second in range(start, end + 1, step)]
    return matrix(({"version": "2"}, points))


def test_the_list_is_the_catalogue(visitor: Client) -> None:
    found = visitor.get("/api/v1/charts").json()["results"]

    assert [chart["key"] for chart in found] == list(CHARTS)
    assert found[0]["url"].endswith("/api/v1/charts/requests")


def test_a_chart_comes_with_its_figure_and_last_values(visitor: Client, scripted: ScriptedPrometheus) -> None:  # noqa: F811
    scripted.answer = steady

    document = visitor.get("/api/v1/charts/requests", {"model": "digits", "environment": "prod"}).json()

    assert (document["state"], document["unit"]) == ("ok", "requests/s")
    assert document["latest"] == [{"name": "v2", "value": 0.02, "text": "0.02", "is_current": True}]
    assert document["figure"]["data"][0]["y"][-1] == 0.02
    assert any('model="digits"' in query for query in document["queries"])


def test_the_models_promise_is_drawn(visitor: Client, scripted: ScriptedPrometheus) -> None:  # noqa: F811
    Model.objects.create(name="digits", slo_error_ratio=0.04)
    scripted.answer = steady

    document = visitor.get("/api/v1/charts/error_ratio", {"model": "digits"}).json()

    assert document["figure"]["data"][0]["y"][-1] == 2.0
    assert [shape["y0"] for shape in document["figure"]["layout"]["shapes"]] == [4.0]


def test_an_unchanged_chart_is_not_sent_again(visitor: Client, settings: Settings) -> None:
    settings.CONCH = {**settings.CONCH, "prometheus_url": f"http://127.0.0.1:{free_port()}"}

    first = visitor.get("/api/v1/charts/requests")
    second = visitor.get("/api/v1/charts/requests", headers={"If-None-Match": first["ETag"]})

    assert (first.status_code, second.status_code) == (200, 304)
    assert second.content == b""


def test_prometheus_down_is_a_state_of_the_chart(visitor: Client, settings: Settings) -> None:
    settings.CONCH = {**settings.CONCH, "prometheus_url": f"http://127.0.0.1:{free_port()}"}

    answer = visitor.get("/api/v1/charts/latency")

    assert answer.status_code == 200
    assert answer.json()["state"] == "error"
    assert answer.json()["message"] == "Prometheus did not answer: connection refused"
    assert answer.json()["figure"] is None


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/api/v1/charts/cats", 404, "chart_unknown"),
        ("/api/v1/charts/requests?range_s=5", 400, "fields_invalid"),
        ("/api/v1/charts/requests?range_s=soon", 400, "fields_invalid"),
        ("/api/v1/charts/requests?server=nobody", 404, "server_unknown"),
    ],
)
def test_what_cannot_be_shown_is_a_problem(visitor: Client, path: str, status: int, code: str) -> None:
    answer = visitor.get(path)

    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_nobody_sees_charts_without_signing_in(client: Client) -> None:
    assert client.get("/api/v1/charts/requests").status_code == 401
