"""Live pages in a real browser: quiet where nobody looks, honest when nobody answers, still under one's hands."""

from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, Route, expect

from apps.deployments.models import Rollout
from tests.factories.fleet_extremes import break_things
from tests.factories.fleets import FleetRows

pytestmark = pytest.mark.e2e
SOON_MS = 15_000
HIDE = """(is_hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => is_hidden });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
ALL_AT_ONCE = """() => {
    htmx.config.defaultSettleDelay = 1000;
    for (const part of document.querySelectorAll("[data-live]")) {
        part.dataset.was = "asked";
        htmx.trigger(part, "poll");
    }
}"""


@pytest.fixture
def page(rows: FleetRows, opened: Callable[..., Page]) -> Page:
    """A rollout that moves, so that its page asks again and again."""
    moving = rows.rollout("digits", "prod", 1, 2, state="running")
    return opened(f"/rollouts/{moving.pk}/")


def test_a_hidden_tab_asks_nothing_and_looks_again_when_it_is_seen(page: Page) -> None:
    asked: list[str] = []
    page.evaluate(HIDE, arg=True)
    # The picture in the tab is asked for once, late.
    page.on("request", lambda request: asked.extend([request.url] if "/static/" not in request.url else []))

    page.wait_for_timeout(3_000)

    assert asked == []
    with page.expect_request(lambda request: "part=rollout" in request.url):
        page.evaluate(HIDE, arg=False)


def test_a_page_that_nobody_answers_says_so_and_comes_back(page: Page) -> None:
    line: BrowserContext = page.context
    line.set_offline(True)
    expect(page.locator("#stale")).to_be_visible(timeout=SOON_MS)

    line.set_offline(False)

    expect(page.locator("#stale")).to_be_hidden(timeout=SOON_MS)


def test_a_part_that_answers_does_not_hide_that_another_does_not(rows: FleetRows, opened: Callable[..., Page]) -> None:
    page = opened("/servers/prod-1/")
    page.route("**/*part=server*", lambda route: route.abort())
    expect(page.locator("#stale")).to_be_visible(timeout=SOON_MS)

    with page.expect_response(lambda response: "part=facts" in response.url):
        page.evaluate("htmx.trigger('[data-live][id$=facts]', 'poll')")

    expect(page.locator("#stale")).to_be_visible()


def test_what_was_opened_stays_open_when_several_parts_move_at_once(
    rows: FleetRows, opened: Callable[..., Page]
) -> None:
    break_things(rows)
    page = opened("/servers/prod-2/")
    page.locator("#live-server details.reason summary").first.click()
    # No part says what it knows, so each is sent whole; all of them settle together.
    page.route("**/*&updated=*", lambda route: route.continue_(url=route.request.url.split("&updated=")[0]))

    page.evaluate(ALL_AT_ONCE)

    expect(page.locator("#live-server[data-was]")).to_have_count(0, timeout=SOON_MS)
    expect(page.locator("#live-server details.reason").first).to_have_attribute("open", "")


def test_the_head_of_a_long_table_stays_in_sight(rows: FleetRows, opened: Callable[..., Page]) -> None:
    for number in range(60):
        rows.server(f"more-{number:02}", "prod")
    page = opened("/servers/", viewport={"width": 1440, "height": 700})
    last = page.locator("#servers-scroll tbody tr").last

    last.scroll_into_view_if_needed()

    expect(last).to_be_in_viewport()
    expect(page.get_by_role("columnheader", name="Environment")).to_be_in_viewport(ratio=1)


def test_a_step_is_seen_within_moments_without_a_reload_and_the_menu_stays_open(page: Page) -> None:
    page.locator(".who summary").click()
    page.evaluate("window.isTheSamePage = true")

    Rollout.objects.filter(state="running").update(state="succeeded", finished_at=timezone.now())

    expect(page.locator("#live-rollout .facts .chip").first).to_have_text("done", timeout=SOON_MS)
    assert page.evaluate("window.isTheSamePage")
    expect(page.locator(".who .menu")).to_be_visible()


def test_a_part_that_was_answered_late_once_is_soon_asked_for_again(page: Page) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/*part=rollout*", hold, times=1)
    page.wait_for_timeout(6_000)
    with page.expect_response("**/*part=rollout*"):
        held[0].continue_()

    Rollout.objects.filter(state="running").update(state="succeeded", finished_at=timezone.now())

    expect(page.locator("#live-rollout .facts .chip").first).to_have_text("done", timeout=SOON_MS)


def test_the_search_is_walked_with_the_arrows(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("prod-")
    expect(page.locator("#found a").first).to_be_visible(timeout=SOON_MS)

    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")

    page.wait_for_url("**/servers/prod-1/")


def test_escape_closes_what_the_search_has_found(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("prod-")
    expect(page.locator("#found a").first).to_be_visible(timeout=SOON_MS)

    page.keyboard.press("Escape")

    expect(page.locator("#found a")).to_have_count(0)
    expect(page.locator("#search")).to_be_focused()
