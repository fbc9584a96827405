"""Charts over REST."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from apps.deployments.models import Rollout
from apps.metrics.catalogue import CHARTS, Page, charts_on
from apps.registry.models import Model
from demo.parts.ports import free_port
from tests.apps.api import rows as rows_of
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


def test_a_chart_comes_with_its_figure_and_last_values(visitor: Client, scripted: ScriptedPrometheus) -> None:
    scripted.answer = steady

    document = visitor.get("/api/v1/charts/requests", {"model": "digits", "environment": "prod"}).json()

    assert (document["state"], document["unit"]) == ("ok", "requests/s")
    assert document["latest"] == [{"name": "v2", "value": 0.02, "text": "0.02", "is_current": True}]
    assert document["figure"]["data"][0]["y"][-1] == 0.02
    assert any('model="digits"' in query for query in document["queries"])


def test_the_models_promise_is_drawn(visitor: Client, scripted: ScriptedPrometheus) -> None:
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
        ("/api/v1/charts/requests?rollout=9", 404, "rollout_unknown"),
        ("/api/v1/charts/cats/csv", 404, "chart_unknown"),
        ("/api/v1/boards/kitchen", 404, "page_unknown"),
        ("/api/v1/figures", 400, "fields_invalid"),
    ],
)
def test_what_cannot_be_shown_is_a_problem(visitor: Client, path: str, status: int, code: str) -> None:
    answer = visitor.get(path)

    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_nobody_sees_charts_without_signing_in(client: Client) -> None:
    assert client.get("/api/v1/charts/requests").status_code == 401


def test_a_board_is_all_charts_of_its_page(visitor: Client, scripted: ScriptedPrometheus) -> None:
    scripted.answer = steady

    document = visitor.get("/api/v1/boards/model", {"model": "digits", "environment": "prod"}).json()

    assert [chart["key"] for chart in document["charts"]] == [chart.key for chart in charts_on(Page.MODEL)]
    assert document["window"]["end_s"] - document["window"]["start_s"] == 900
    assert document["from_s"] is None


def test_who_has_the_last_board_gets_the_tail(
    visitor: Client,
    scripted: ScriptedPrometheus,
) -> None:
    scripted.answer = steady
    first = visitor.get("/api/v1/boards/model", {"model": "digits"}).json()

    known = {"since_s": first["window"]["end_s"], "shape": first["shape"]}
    second = visitor.get("/api/v1/boards/model", {"model": "digits", **known}).json()

    whole, tail = (document["charts"][0]["figure"] for document in (first, second))
    assert second["from_s"] == first["window"]["end_s"] - 3 * 15
    assert tail["data"][0]["y"] == whole["data"][0]["y"][-4:]
    assert "palettes" not in str(tail)


def test_a_board_of_another_shape_comes_whole(visitor: Client, scripted: ScriptedPrometheus) -> None:
    scripted.answer = steady
    first = visitor.get("/api/v1/boards/model", {"model": "digits"}).json()

    known = {"since_s": first["window"]["end_s"], "shape": "another"}
    second = visitor.get("/api/v1/boards/model", {"model": "digits", **known}).json()

    assert second["from_s"] is None
    assert len(second["charts"][0]["figure"]["data"][0]["y"]) == 61


def test_a_chart_can_be_had_as_csv(visitor: Client, scripted: ScriptedPrometheus) -> None:
    scripted.answer = steady

    answer = visitor.get("/api/v1/charts/error_ratio/csv", {"model": "digits", "until": "2026-01-01T12:00:00Z"})

    rows = answer.content.decode().splitlines()
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert rows[0] == "time,v2 (%)"
    assert rows[-1] == "2026-01-01T12:00:00+00:00,2"
    assert len(rows) == 62


def test_a_rollouts_charts_are_about_its_two_versions_and_its_time(
    visitor: Client,
    scripted: ScriptedPrometheus,
) -> None:
    scripted.answer = steady
    now = timezone.now()
    rollout = rows_of.rollout(rows_of.placement(), to=rows_of.version(2), servers=1)
    Rollout.objects.filter(pk=rollout.pk).update(
        created_at=now - timedelta(hours=3),
        finished_at=now - timedelta(hours=2),
        from_version=rows_of.version(1),
    )

    document = visitor.get("/api/v1/boards/rollout", {"rollout": rollout.pk}).json()

    window = document["window"]
    assert 'version=~"1|2"' in document["charts"][0]["queries"][-1]
    assert now.timestamp() - window["end_s"] == pytest.approx(6_600, abs=61)
    assert window["end_s"] - window["start_s"] == pytest.approx(4_800, abs=61)


def by_model(asked: Asked) -> dict[str, Any]:
    """Requests of two models, percentiles of one, and the other's mean."""
    end, query = int(asked.parameters["end"]), asked.parameters["query"]
    if "summary_us" in query:
        return matrix(({"model": "a", "quantile": "0.99"}, [(float(end), "41")]))
    return matrix(*(({"model": name}, [(float(end), "0.5")]) for name in ("a", "b")))


def test_figures_of_many_models_are_asked_for_together(visitor: Client, scripted: ScriptedPrometheus) -> None:
    scripted.answer = by_model

    document = visitor.get("/api/v1/figures", {"models": "a,b,c"}).json()

    found = {one["model"]: one for one in document["models"]}
    assert {name: one["requests"]["now"] for name, one in found.items()} == {"a": 0.5, "b": 0.5, "c": None}
    assert (found["a"]["latency_ms"]["now"], found["a"]["is_mean"]) == (41, False)
    assert (found["b"]["latency_ms"]["now"], found["b"]["is_mean"]) == (0.5, True)
    assert found["a"]["error_percent"]["now"] == 50
    assert len(scripted.asked) == 4


def test_figures_say_when_prometheus_is_down(visitor: Client, settings: Settings) -> None:
    settings.CONCH = {**settings.CONCH, "prometheus_url": f"http://127.0.0.1:{free_port()}"}

    document = visitor.get("/api/v1/figures", {"models": "a"}).json()

    assert document["models"] == []
    assert document["problem"] == "Prometheus did not answer: connection refused"


def test_a_hundred_people_on_one_page_cost_prometheus_what_one_does(
    visitor: Client,
    scripted: ScriptedPrometheus,
) -> None:
    scripted.answer = steady
    until = {"model": f"m{timezone.now():%f}", "until": "2026-01-01T12:00:00Z"}
    visitor.get("/api/v1/boards/model", until)
    alone = len(scripted.asked)

    codes = {visitor.get("/api/v1/boards/model", until).status_code for _ in range(99)}

    assert codes == {200}
    distinct = {(asked.parameters["query"], asked.parameters["start"]) for asked in scripted.asked}
    assert len(scripted.asked) == alone == len(distinct)


def test_a_rollouts_gates_are_lines_in_its_charts(visitor: Client, scripted: ScriptedPrometheus) -> None:
    scripted.answer = steady
    rollout = rows_of.rollout(rows_of.placement(), to=rows_of.version(2), servers=1)
    Model.objects.filter(name="digits").update(slo_error_ratio=0.04)
    gates = [
        {"name": "errors", "signal": "error_ratio", "against": "objective", "limit": 0.5},
        {"name": "queue", "signal": "queue_time", "limit": 7},
        {"name": "like-before", "signal": "queue_time", "against": "replaced", "limit": 1.2},
    ]
    Rollout.objects.filter(pk=rollout.pk).update(policy={"bake_s": 60, "gates": gates})

    document = visitor.get("/api/v1/boards/rollout", {"rollout": rollout.pk}).json()

    notes = {
        chart["key"]: [note["text"] for note in chart["figure"]["layout"]["annotations"] if note["name"] == "slo"]
        for chart in document["charts"]
    }
    assert notes["error_ratio"] == ["SLO 4.00 %", "gate errors 2.00 %"]
    assert [text.removesuffix(" (above)") for text in notes["queue_compute"]] == ["gate queue 7.00 ms"]


@pytest.mark.parametrize(
    ("ahead_s", "said"),
    [
        (-95, "Prometheus's clock is 9"),
        (600, "s ahead of Conch's: what is shown as now is that old"),
    ],
)
def test_a_clock_that_is_wrong_is_said(
    visitor: Client,
    scripted: ScriptedPrometheus,
    ahead_s: float,
    said: str,
) -> None:
    scripted.answer = steady
    scripted.clock_ahead_s = ahead_s

    assert said in visitor.get("/api/v1/charts/requests", {"model": "digits"}).json()["message"]


def test_a_clock_that_is_right_is_not_talked_about(visitor: Client, scripted: ScriptedPrometheus) -> None:
    scripted.answer = steady
    scripted.clock_ahead_s = 3

    assert visitor.get("/api/v1/charts/requests", {"model": "digits"}).json()["message"] == ""
