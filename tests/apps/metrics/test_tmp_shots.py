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
from playwright.sync_api import ConsoleMessage, Page, expect
from pytest_django.live_server_helper import LiveServer

from apps.deployments.models import Placement, Rollout
from apps.fleet.models import Environment
from apps.registry.models import Model
from tests.apps.metrics.doubles import Asked, ScriptedPrometheus, matrix

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
    query = asked.parameters["query"]
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
    old = [
        (float(at), str(12 + 2 * math.cos(at / 50))) for at in seconds if not 0.4 < (at - start) / (end - start) < 0.6
    ]
    new = [(float(at), str(24 + 3 * math.sin(at / 40))) for at in seconds if (at - start) / (end - start) > 0.7]
    return matrix(({"version": "1"}, old), ({"version": "2"}, new))


def open_model(page: Page, live_server: LiveServer) -> None:
    page.goto(f"{live_server.url}/models/digits/")


def many(asked):
    start, end, step = (int(asked.parameters[name]) for name in ("start", "end", "step"))
    query = asked.parameters["query"]
    seconds = range(start, end + 1, step)
    if query.startswith("max by (server) (up"):
        return matrix(({"server": "prod-1"}, [(float(end), "1")]))
    if "gpu" in query:
        return matrix()
    if "summary_us" in query:
        return matrix(
            *(
                (
                    {"version": str(v), "quantile": q},
                    [(float(at), str(h + 3 * v + math.sin(at / 60))) for at in seconds],
                )
                for q, h in (("0.5", 8), ("0.95", 22), ("0.99", 41))
                for v in (1, 2)
            )
        )
    return matrix(
        *(
            (
                {"model": f"a-rather-long-model-name-{i}", "version": str(i)},
                [(float(at), str(10 + i * 0.3 + math.sin(at / 60 + i))) for at in seconds],
            )
            for i in range(1, 18)
        )
    )


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("answer", [traffic, many])
def test_shot(seen, live_server, scripted, width, answer):
    scripted.answer = answer
    seen.set_viewport_size({"width": width, "height": 900})
    open_model(seen, live_server)
    seen.wait_for_timeout(5000)
    box = seen.locator(".chart .nsewdrag").first.bounding_box()
    seen.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 60)
    seen.wait_for_timeout(800)
    seen.locator(".charts").screenshot(path=f"/tmp/h6-{answer.__name__}-{width}.png")
