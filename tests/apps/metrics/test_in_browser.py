"""Charts in a real browser: drawn, refreshed, told in words, in both themes, under the page's own security policy."""

import math
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings as project
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client
from django.utils import timezone
from playwright.sync_api import ConsoleMessage, FloatRect, Locator, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from apps.deployments.models import Placement, Rollout
from apps.fleet.models import Environment
from apps.fleet.services import record_part
from apps.registry.models import Model
from tests.apps.metrics.doubles import Asked, ScriptedPrometheus, matrix
from tests.e2e.test_standing_still import GOOD, WATCH

RANGES = """() => {
    const plots = () => [...document.querySelectorAll('.chart .chart-plot:not([hidden])')];
    window.conchRanges = () => plots().map((plot) => plot.layout.xaxis.range.map((end) => +new Date(end)));
}"""
pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def model() -> Model:
    """`digits` in prod, with a promise and a rollout five minutes ago."""
    made = Model.objects.create(name="digits", slo_p99_ms=60, slo_error_ratio=0.01)
    environment = Environment.objects.create(name="prod", rank=1)
    placement = Placement.objects.create(environment=environment, model=made)
    Rollout.objects.create(
        placement=placement,
        kind="promote",
        state="succeeded",
        actor="ann",
        actor_kind="user",
        reason="better",
        created_at=timezone.now() - timedelta(minutes=5),
        finished_at=timezone.now() - timedelta(minutes=4),
    )
    return made


@pytest.fixture
def seen(page: Page, live_server: LiveServer, client: Client) -> Iterator[Page]:
    """A page of somebody signed in; the browser's own complaints fail the test."""
    client.force_login(User.objects.create_superuser("ann"))
    cookie = client.cookies[project.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": project.SESSION_COOKIE_NAME, "value": cookie, "url": live_server.url}])
    assert SessionStore(cookie).load()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if is_complaint(message) else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    page.goto("about:blank")
    assert complaints == []


def is_complaint(message: ConsoleMessage) -> bool:
    """An error of the page's own, not one about an answer that a test made fail."""
    return message.type == "error" and "Failed to load resource" not in message.text


def traffic(asked: Asked) -> dict[str, Any]:
    """Two versions with waves, a gap in the older one's middle, and one server that is up."""
    start, end, step = (int(asked.parameters[name]) for name in ("start", "end", "step"))
    query, length_s = asked.parameters["query"], max(1, end - start)
    seconds = range(start, end + 1, step)
    if query.startswith("max by (server) (up"):
        return matrix(({"server": "prod-1"}, [(float(end), "1")]))
    if "summary_us" in query:
        return matrix(
            *(
                (
                    {"version": "2", "quantile": quantile},
                    [(float(at), str(height + math.sin(at / 60))) for at in seconds],
                )
                for quantile, height in (("0.5", 8), ("0.95", 22), ("0.99", 41))
            )
        )
    if "gpu" in query:
        return matrix()
    if "cpu" in query:
        return matrix(({"server": "prod-1"}, [(float(at), "0.4") for at in seconds]))
    old = [(float(at), str(12 + 2 * math.cos(at / 50))) for at in seconds if not 0.4 < (at - start) / length_s < 0.6]
    new = [(float(at), str(24 + 3 * math.sin(at / 40))) for at in seconds if (at - start) / length_s > 0.7]
    return matrix(({"version": "1"}, old), ({"version": "2"}, new))


def open_model(page: Page, live_server: LiveServer) -> None:
    page.goto(f"{live_server.url}/models/digits/")


def open_plots(seen: Page, live_server: LiveServer) -> tuple[Locator, FloatRect]:
    """The model's plots once they are drawn, and the first one's area under the pointer."""
    open_model(seen, live_server)
    plots = seen.locator(".chart .chart-plot:visible")
    expect(plots.nth(1).locator(".scatterlayer .trace").first).to_be_visible()
    area = plots.nth(0).locator(".nsewdrag").bounding_box()
    assert area is not None
    return plots, area


@pytest.mark.usefixtures("model")
def test_charts_are_drawn_with_labels_promise_and_marks(
    seen: Page, live_server: LiveServer, scripted: ScriptedPrometheus
) -> None:
    scripted.answer = traffic

    open_model(seen, live_server)

    latency = seen.locator(".chart", has_text="Latency").first
    expect(latency.locator(".scatterlayer .trace")).to_have_count(4)
    expect(latency.locator(".annotation-text", has_text="v2 p99")).to_be_visible()
    expect(latency.locator(".annotation-text", has_text="SLO 60.0 ms")).to_be_visible()
    expect(latency.locator(".shapelayer path")).to_have_count(3)
    spoken = latency.locator("[role=img]").first
    expect(spoken).to_have_attribute(
        "aria-label", re.compile(r"^Latency in ms\. Last values: v2 p50 .*; v2 p95 .*; v2 p99 ")
    )


@pytest.mark.usefixtures("model")
def test_folded_charts_come_back_with_something_to_draw_and_then_stay_where_they_are(
    seen: Page, live_server: LiveServer, scripted: ScriptedPrometheus
) -> None:
    scripted.answer = lambda _: matrix()
    open_model(seen, live_server)
    expect(seen.locator(".charts-reason").first).to_be_visible()
    scripted.answer = traffic

    # What was answered a moment ago is kept: a longer window is asked for anew.
    seen.goto(f"{live_server.url}/models/digits/?range=3600")
    expect(seen.locator(".scatterlayer .trace").first).to_be_visible()
    drawn = seen.locator(".chart:visible").count()
    seen.add_init_script(WATCH)
    seen.reload()
    expect(seen.locator(".scatterlayer .trace").first).to_be_visible()

    assert seen.locator(".chart:visible").count() == drawn > 3
    assert seen.evaluate("moved") < GOOD


@pytest.mark.usefixtures("model")
def test_a_chart_moves_on_by_itself_and_only_the_tail_comes(
    seen: Page, live_server: LiveServer, scripted: ScriptedPrometheus, settings: Settings
) -> None:
    settings.CONCH = {**settings.CONCH, "scrape_interval_s": 2}
    scripted.answer = traffic
    answers: list[dict[str, Any]] = []
    seen.on("response", lambda response: answers.append(response.json()) if "/boards/" in response.url else None)
    open_model(seen, live_server)
    plot = seen.locator(".chart .chart-plot").first
    expect(plot.locator(".scatterlayer .trace").first).to_be_visible()
    before = plot.evaluate("plot => plot.data[0].x0")

    seen.wait_for_function("before => document.querySelector('.chart .chart-plot').data[0].x0 > before", arg=before)

    assert plot.evaluate("plot => plot.data[0].x0") > before
    assert plot.evaluate("plot => plot.data[0].y.length") == len(answers[0]["charts"][0]["figure"]["data"][0]["y"])
    assert answers[-1]["from_s"] is not None
    assert len(answers[-1]["charts"][0]["figure"]["data"][0]["y"]) < 10


@pytest.mark.usefixtures("model")
def test_beside_what_is_drawn_a_chart_without_data_keeps_its_place_until_the_next_look(
    seen: Page, live_server: LiveServer, scripted: ScriptedPrometheus
) -> None:
    scripted.answer = lambda asked: traffic(asked) if "request_success" in asked.parameters["query"] else matrix()
    seen.add_init_script(WATCH)
    record_part("prometheus", is_well=True, message="", now=timezone.now())

    open_model(seen, live_server)
    expect(seen.locator(".scatterlayer .trace").first).to_be_visible()
    standing = seen.locator(".chart-nothing:visible").count()
    at_first = seen.evaluate("moved")
    seen.reload()
    expect(seen.locator(".scatterlayer .trace").first).to_be_visible()

    assert standing > 1
    assert at_first < GOOD
    assert seen.evaluate("moved") < GOOD
    assert seen.locator(".chart-nothing:visible").count() < standing


@pytest.mark.usefixtures("model")
def test_prometheus_down_is_said_once_for_all_charts(
    seen: Page, live_server: LiveServer, scripted: ScriptedPrometheus
) -> None:
    scripted.says(400, {"status": "error", "errorType": "bad_data", "error": "no such thing"})

    open_model(seen, live_server)

    reason = seen.locator(".charts").get_by_text("Prometheus refused the query: no such thing")
    expect(reason.filter(visible=True)).to_have_count(1)
    expect(seen.locator(".chart:visible")).to_have_count(0)


@pytest.mark.usefixtures("model")
def test_conch_down_keeps_the_chart_and_says_when_it_is_asked_again(
    seen: Page, live_server: LiveServer, scripted: ScriptedPrometheus
) -> None:
    scripted.answer = traffic
    open_model(seen, live_server)
    chart = seen.locator(".chart").first
    expect(chart.locator(".scatterlayer .trace").first).to_be_visible()

    seen.route(
        "**/api/v1/boards/**", lambda route: route.fulfill(status=503, body='{"detail": "the database is away"}')
    )

    told = seen.get_by_text("Not up to date: the database is away. Asking again in 10 s.")
    expect(told).to_be_visible(timeout=25_000)
    expect(told).to_have_count(1)
    expect(chart.locator(".scatterlayer .trace").first).to_be_visible()
    seen.unroute_all()


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_follow_the_theme_and_nothing_is_inaccessible(
    seen: Page, live_server: LiveServer, scripted: ScriptedPrometheus, theme: str
) -> None:
    scripted.answer = traffic
    open_model(seen, live_server)
    expect(seen.locator(".chart .scatterlayer .trace").first).to_be_visible()

    seen.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    seen.wait_for_function(
        """theme => { const plot = document.querySelector('.chart .chart-plot');
                      return plot.data[0].line.color === plot.layout.meta.palettes[theme][plot.data[0].meta.role]; }""",
        arg=theme,
    )

    found = Axe().run(seen, context=".charts")
    assert found.response["violations"] == []


@pytest.mark.usefixtures("model")
def test_zooming_one_chart_zooms_all_and_a_double_click_goes_back(
    seen: Page, live_server: LiveServer, scripted: ScriptedPrometheus
) -> None:
    scripted.answer = traffic
    _, area = open_plots(seen, live_server)
    seen.evaluate(RANGES)

    seen.mouse.move(area["x"] + 40, area["y"] + 60)
    seen.mouse.down()
    seen.mouse.move(area["x"] + 120, area["y"] + 60, steps=4)
    seen.mouse.up()

    seen.wait_for_function("() => conchRanges().every(([from, to], _, all) => from === all[0][0] && to - from < 6e5)")
    seen.mouse.dblclick(area["x"] + 40, area["y"] + 60)
    seen.wait_for_function("() => conchRanges().every(([from, to]) => to - from > 8e5)")


@pytest.mark.usefixtures("model")
def test_the_crosshair_of_one_chart_stands_at_the_same_moment_in_the_others(
    seen: Page, live_server: LiveServer, scripted: ScriptedPrometheus
) -> None:
    scripted.answer = traffic
    plots, area = open_plots(seen, live_server)

    seen.mouse.move(area["x"] + 120, area["y"] + 60)
    here, there = (plots.nth(at).locator(".hoverlayer") for at in (0, 1))
    expect(here.locator(".spikeline").first).to_be_attached()
    expect(there.locator(".spikeline").first).to_be_attached()
    moments = [one.locator(".legendtitletext").first.text_content() for one in (here, there)]
    seen.mouse.move(area["x"] + 120, area["y"] - 60)

    assert moments[0] == moments[1] != ""
    expect(there.locator(".spikeline")).to_have_count(0)


@pytest.mark.usefixtures("model")
def test_a_click_on_a_mark_leads_to_its_rollout(
    seen: Page, live_server: LiveServer, scripted: ScriptedPrometheus
) -> None:
    scripted.answer = traffic
    open_model(seen, live_server)
    plot = seen.locator(".chart .chart-plot").first
    point = plot.locator(".scatterlayer .trace").last.locator(".points path").first
    expect(point).to_be_visible()
    box = point.bounding_box()
    assert box is not None

    seen.mouse.move(box["x"] + 4, box["y"] + 4)
    expect(plot.locator(".hoverlayer")).to_contain_text("promote digits")
    seen.mouse.down()
    seen.mouse.up()

    expect(seen).to_have_url(re.compile(r"/rollouts/\d+/$"))
