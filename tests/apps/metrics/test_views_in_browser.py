"""What people do with charts: link to a view, read the query, take it along, look elsewhere, at slices and promises."""

import json
import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from apps.deployments.models import Rollout
from apps.fleet.models import Environment, Repository, Server
from apps.registry.models import Model
from tests.apps.metrics.doubles import Asked, ScriptedPrometheus, matrix
from tests.apps.metrics.test_cards import told
from tests.apps.metrics.test_in_browser import model, open_model, seen, traffic  # noqa: F401

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def everything(asked: Asked) -> dict[str, Any]:
    """Traffic, and two cards."""
    if "DCGM" not in asked.parameters["query"]:
        return traffic(asked)
    end = float(asked.parameters["end"])
    wanted = re.findall(r"DCGM_\w+", asked.parameters["query"])
    return matrix(
        *(
            ({**one.labels, "host": one.labels.get("Hostname", "")}, [(end, str(one.values[0]))])
            for one in told("dcgm_mig_a100")
            if one.labels["__name__"] in wanted
        )
    )


@pytest.mark.usefixtures("model")
def test_a_zoom_is_in_the_address_and_opens_again_from_it(
    seen: Page,  # noqa: F811
    live_server: LiveServer,
    scripted: ScriptedPrometheus,
) -> None:
    scripted.answer = traffic
    open_model(seen, live_server)
    plot = seen.locator(".chart .chart-plot").first
    expect(plot.locator(".scatterlayer .trace").first).to_be_visible()
    area = plot.locator(".nsewdrag").bounding_box()
    assert area is not None

    seen.mouse.move(area["x"] + 40, area["y"] + 60)
    seen.mouse.down()
    seen.mouse.move(area["x"] + 120, area["y"] + 60, steps=4)
    seen.mouse.up()
    seen.wait_for_url(re.compile(r"from=\d+&to=\d+"))
    wanted = seen.evaluate("['from', 'to'].map((end) => Number(new URL(location.href).searchParams.get(end)))")
    seen.reload()

    expect(plot.locator(".scatterlayer .trace").first).to_be_visible()
    shown = plot.evaluate("plot => plot.layout.xaxis.range.map((end) => +new Date(end))")
    assert [round(end / 1000) for end in shown] == wanted
    expect(seen.locator("[data-zoom-out]")).to_be_visible()
    seen.locator("[data-zoom-out]").click()
    expect(seen).not_to_have_url(re.compile(r"from="))


@pytest.mark.usefixtures("model")
def test_a_chart_shows_its_query_and_can_be_taken_along_by_keyboard(
    seen: Page,  # noqa: F811
    live_server: LiveServer,
    scripted: ScriptedPrometheus,
    settings: Settings,
) -> None:
    settings.CONCH = {
        **settings.CONCH,
        "prometheus_link": "http://prometheus.example/p",
        "grafana_link": "http://grafana.example/d/conch",
    }
    scripted.answer = traffic
    open_model(seen, live_server)
    chart = seen.locator(".chart").first
    expect(chart.locator(".scatterlayer .trace").first).to_be_visible()

    chart.locator(".chart-menu summary").focus()
    seen.keyboard.press("Enter")

    expect(chart.locator(".chart-query").first).to_contain_text("up{environment=")
    elsewhere = chart.locator(".chart-elsewhere a")
    expect(elsewhere.nth(0)).to_have_attribute("href", re.compile(r"^http://prometheus\.example/p/graph\?g0\.expr="))
    expect(elsewhere.nth(1)).to_have_attribute("href", re.compile(r"var-model=digits.*from=\d+&to=\d+"))
    with seen.expect_download() as csv:
        chart.get_by_role("link", name="CSV").click()
    assert csv.value.path().read_text().startswith("time,v1 (requests/s),v2 (requests/s)")
    with seen.expect_download() as png:
        chart.get_by_role("button", name="PNG").click()
    assert png.value.path().read_bytes().startswith(b"\x89PNG")
    seen.keyboard.press("Escape")
    expect(chart.locator(".chart-menu")).not_to_have_attribute("open", "")


def test_a_rollouts_page_has_both_versions_over_its_own_time(
    seen: Page,  # noqa: F811
    live_server: LiveServer,
    scripted: ScriptedPrometheus,
    model: Model,  # noqa: F811
) -> None:
    scripted.answer = traffic
    rollout = Rollout.objects.get(placement__model=model)

    seen.goto(f"{live_server.url}/rollouts/{rollout.pk}/")

    chart = seen.locator('.chart[data-chart="requests"]')
    expect(chart.locator(".annotation-text", has_text="v1")).to_be_visible()
    expect(chart.locator(".annotation-text", has_text="v2")).to_be_visible()


@pytest.mark.parametrize(("theme", "width"), [("light", 390), ("dark", 1440)])
def test_a_servers_cards_promises_and_advice_can_be_read_by_everybody(  # noqa: PLR0917
    seen: Page,  # noqa: F811
    live_server: LiveServer,
    scripted: ScriptedPrometheus,
    model: Model,  # noqa: F811
    theme: str,
    width: int,
) -> None:
    scripted.answer = everything
    environment = Environment.objects.get(name="prod")
    repository = Repository.objects.create(name="prod", environment=environment, path="/models")
    Server.objects.create(
        name="prod-1",
        environment=environment,
        repository=repository,
        grpc="127.0.0.1:1",
        state="active",
        labels={"mig": "gpu-node-a/0/9"},
    )
    seen.set_viewport_size({"width": width, "height": 900})

    for path in ("/servers/prod-1/", "/gpus/", "/models/digits/"):
        seen.goto(f"{live_server.url}{path}")
        expect(seen.get_by_text("Asking Prometheus…")).to_have_count(0)
        expect(seen.locator(".chart .scatterlayer .trace").first).to_be_visible()
        seen.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        found = Axe().run(seen)
        assert json.dumps(found.response["violations"], indent=1) == "[]"
        assert seen.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
