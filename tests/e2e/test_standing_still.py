"""What has been painted stays where it is, whatever Prometheus says later."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.factories.fleets import FleetRows

pytestmark = pytest.mark.e2e
WATCH = """
window.moved = 0;
new PerformanceObserver((list) => {
    for (const one of list.getEntries()) window.moved += one.value;
}).observe({ type: "layout-shift", buffered: true });
"""
# Of https://web.dev/articles/cls: what is good.
GOOD = 0.1


@pytest.mark.parametrize("where", ["/models/digits/", "/servers/prod-1/"])
def test_charts_that_cannot_be_drawn_move_nothing(rows: FleetRows, opened: Callable[..., Page], where: str) -> None:
    """Nobody answers for Prometheus here: all charts of a board fold under one reason, at the first look and later."""
    page = opened("/models/")
    page.add_init_script(WATCH)

    page.goto(where)
    expect(page.locator(".charts-reason")).to_have_count(1)
    at_first = page.evaluate("window.moved")
    page.reload()
    expect(page.locator(".charts-reason")).to_have_count(1)

    assert at_first < GOOD
    assert page.evaluate("window.moved") < GOOD
    expect(page.locator("[data-chart]:visible")).to_have_count(0)


def test_a_browser_that_keeps_nothing_shows_the_charts_all_the_same(
    rows: FleetRows, opened: Callable[..., Page]
) -> None:
    page = opened("/models/")
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('off'); } })")

    page.goto("/models/digits/")

    expect(page.locator(".charts-reason")).to_have_count(1)
