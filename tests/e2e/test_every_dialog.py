"""What holds for every dialog: axe finds nothing in both themes, focus goes in, Escape closes it, focus comes back."""

from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.factories.fleet_extremes import break_things
from tests.factories.fleets import FleetRows
from tests.factories.histories import baking
from tests.fixtures.waiting import eventually

pytestmark = pytest.mark.e2e
WHERE_THEY_OPEN = (
    "/",
    "/models/",
    "/models/digits/",
    "/models/digits/versions/2/",
    "/servers/",
    "/servers/prod-1/",
    "/servers/prod-4/",
    "/rollouts/",
    "/rollouts/{moving}/",
    "/environments/",
    "/tokens/",
    "/people/",
    "/releases/",
)
INSIDE = "document.querySelector('dialog[open]')?.contains(document.activeElement)"


def test_every_dialog_can_be_read_and_left_by_everybody(rows: FleetRows, opened: Callable[..., Page]) -> None:
    moving = break_things(rows)
    baking(moving)
    page, seen = opened("/", viewport={"width": 390, "height": 844}), set[str]()

    faults = [fault for where in WHERE_THEY_OPEN for fault in _faults(page, where.format(moving=moving.pk), seen)]

    assert faults == []
    assert len(seen) > 20, sorted(seen)


def test_the_focus_comes_back_to_what_was_put_in_anew_behind_the_dialog(
    rows: FleetRows, opened: Callable[..., Page]
) -> None:
    page = opened("/models/digits/")
    page.get_by_role("link", name="Hold").first.click()
    expect(page.get_by_role("dialog").get_by_label("Why")).to_be_visible()
    opener = page.evaluate("window.was = document.querySelector('a[href$=\"/hold/\"]'); was.getAttribute('href')")

    rows.observed("prod-2", "digits", 7)
    assert eventually(lambda: bool(page.evaluate("!was.isConnected")))
    page.keyboard.press("Escape")

    expect(page.locator(f'a[href="{opener}"]').first).to_be_focused()


def _faults(page: Page, where: str, seen: set[str]) -> Iterator[str]:
    """Of each dialog of a page that no page before it has had."""
    assert page.goto(where), where
    for opener in page.locator("main a[data-dialog]:visible").all():
        name = opener.inner_text().partition("…")[0].strip()
        if name and name not in seen:
            seen.add(name)
            yield from _faults_of(page, opener, f"{where} {name}")


def _faults_of(page: Page, opener: Locator, name: str) -> Iterator[str]:
    where = opener.get_attribute("href")
    opener.click()
    expect(page.locator("dialog[open] form, dialog[open] .message").first).to_be_visible()
    if not page.evaluate(INSIDE):
        yield f"{name}: the focus stays outside"
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for one in Axe().run(page, context="dialog[open]").response["violations"]:
            yield f"{name} in {theme}: {one['id']}: {one['nodes'][0]['html'][:200]}"
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)
    if page.evaluate("document.activeElement.getAttribute('href')") != where:
        yield f"{name}: the focus does not come back"
