"""What holds for every page: axe finds nothing, in both themes, wide and narrow; nothing hangs over the edge."""

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from playwright.sync_api import Page

from tests.apps.console.places import PAGES
from tests.factories.fleet_extremes import break_things
from tests.factories.fleets import FleetRows
from tests.factories.histories import baking
from tests.factories.large_rollouts import over_many_servers
from tests.factories.numbered import numbered_pages

pytestmark = pytest.mark.e2e
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


@pytest.mark.parametrize(("theme", "size"), [("light", WIDE), ("dark", NARROW)])
def test_axe_finds_nothing_and_nothing_hangs_over(
    theme: str, size: dict[str, int], rows: FleetRows, opened: Callable[..., Page]
) -> None:
    moving = break_things(rows)
    baking(moving)
    large = over_many_servers(rows)
    page = opened("/", color_scheme=theme, viewport=size)
    places = [
        *PAGES,
        f"/rollouts/{moving.pk}/",
        f"/rollouts/{moving.pk - 1}/",
        f"/rollouts/{large.pk}/",
        f"/rollouts/{moving.pk}/judgements/",
        f"/rollouts/{moving.pk}/abort/",
        f"/rollouts/{moving.pk}/pause/",
        f"/rollouts/{moving.pk}/skip-gate/",
        "/nope/",
    ]

    faults = [fault for where in places for fault in _faults(page, where)]

    assert faults == []


@pytest.mark.parametrize(("theme", "size"), [("light", WIDE), ("dark", NARROW)])
def test_axe_finds_nothing_on_pages_with_a_number_of_their_own(
    theme: str, size: dict[str, int], rows: FleetRows, opened: Callable[..., Page]
) -> None:
    page = opened("/", color_scheme=theme, viewport=size)
    places = numbered_pages(rows, break_things(rows), owner=User.objects.get(username="alice"))

    faults = [fault for where in places for fault in _faults(page, where)]

    assert faults == []


def test_axe_finds_nothing_where_one_signs_in(opened: Callable[..., Page]) -> None:
    page = opened("/")
    page.context.clear_cookies()

    assert _faults(page, "/sign-in/") == []


def test_axe_finds_nothing_on_empty_pages(opened: Callable[..., Page]) -> None:
    page = opened("/")

    faults = [
        fault for where in ("/", "/models/", "/servers/", "/rollouts/", "/audit/") for fault in _faults(page, where)
    ]

    assert faults == []


def _faults(page: Page, where: str) -> list[str]:
    answer = page.goto(where)
    assert (answer and answer.status, where) == (404 if where == "/nope/" else 200, where)
    found = Axe().run(page).response["violations"]
    faults = [f"{where}: {one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]
    over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return [*faults, *([f"{where}: hangs over by {over} px"] if over > 0 else [])]
