"""The description as a page, in a real browser, under the real Content-Security-Policy."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import BrowserContext
from pytest_django.live_server_helper import LiveServer

from apps.access import services
from apps.common.actor import COMMAND
from apps.registry.models import Model


def test_the_page_needs_sign_in(db: None) -> None:
    answer = Client().get("/api/docs/")

    assert answer.status_code == 302
    assert "next=/api/docs/" in answer["Location"]


@pytest.mark.e2e
@pytest.mark.django_db(transaction=True)
def test_it_shows_every_path_without_an_error_and_tries_requests_out(
    live_server: LiveServer, context: BrowserContext, tmp_path: Path
) -> None:
    services.add_user(COMMAND, username="alice", password="correct horse battery")
    services.grant_role(COMMAND, username="alice", role="operator")
    client = Client()
    client.force_login(User.objects.get())
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    complaints: list[str] = []

    context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])
    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(request.url))
    page.goto(f"{live_server.url}/api/docs/")
    page.get_by_text("/api/v1/rollbacks").wait_for()
    page.locator("h3[aria-level='2']").first.wait_for()
    page.screenshot(path=tmp_path / "docs.png")
    complaints += [violation["id"] for violation in Axe().run(page).response["violations"]]
    page.locator("#operations-models-register_a_model .opblock-summary-control").click()
    page.get_by_role("button", name="Try it out").click()
    page.locator("#operations-models-register_a_model textarea").fill('{"name": "digits"}')
    page.get_by_role("button", name="Execute").click()
    page.locator(".live-responses-table .response-col_status", has_text="201").wait_for()
    page.screenshot(path=tmp_path / "tried.png")

    assert complaints == []
    assert Model.objects.get().created_by == "alice"
