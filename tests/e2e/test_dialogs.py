"""Changing what is live in a browser: in dialogs, and as plain forms where scripts are off."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from apps.deployments.models import Rollout
from tests.factories.fleets import FleetRows

pytestmark = pytest.mark.e2e


def test_rolling_back_is_two_clicks_and_a_reason(rows: FleetRows, opened: Callable[..., Page]) -> None:
    page = opened("/models/digits/")

    page.get_by_role("link", name="Roll back to 1").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Why").fill("wrong answers")
    dialog.get_by_role("button", name="Roll back 1 staging server from 2 to 1 (hot: instant)").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Roll back digits 2 → 1 in staging")
    assert Rollout.objects.latest("pk").reason == "wrong answers"


def test_a_refusal_stays_in_the_dialog_with_what_was_typed(rows: FleetRows, opened: Callable[..., Page]) -> None:
    page = opened("/models/digits/")

    page.locator("section.card", has_text="prod").get_by_role("link", name="Promote").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Version").select_option("1")
    dialog.get_by_label("Why").fill("typed with care")
    dialog.get_by_role("button", name="Promote on 2 prod servers to 1").click()

    expect(dialog.get_by_role("alert")).to_contain_text("already live in prod")
    expect(dialog.get_by_label("Why")).to_have_value("typed with care")
    expect(page).to_have_url(re.compile(r"/models/digits/$"))


def test_escape_closes_the_dialog_and_nothing_happens(rows: FleetRows, opened: Callable[..., Page]) -> None:
    before = Rollout.objects.count()
    page = opened("/models/digits/")

    page.get_by_role("link", name="Roll back to 1").click()
    expect(page.get_by_role("dialog").get_by_label("Why")).to_be_visible()
    page.keyboard.press("Escape")

    expect(page.get_by_role("dialog")).to_have_count(0)
    assert Rollout.objects.count() == before


def test_a_lost_connection_is_told_in_the_dialog_and_what_was_typed_stays(
    rows: FleetRows, opened: Callable[..., Page]
) -> None:
    page = opened("/models/digits/")
    line, dialog = page.context, page.get_by_role("dialog")

    line.set_offline(True)
    page.get_by_role("link", name="Roll back to 1").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Conch did not answer. Nothing was changed.")
    line.set_offline(False)
    dialog.get_by_role("button", name="Try again").click()
    dialog.get_by_label("Why").fill("typed on a train")
    line.set_offline(True)
    dialog.get_by_role("button", name="Roll back 1 staging server").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Whether it began is not known: look, then try again.")
    expect(dialog.get_by_label("Why")).to_have_value("typed on a train")
    line.set_offline(False)
    dialog.get_by_role("button", name="Try again").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Roll back digits 2 → 1 in staging")
    assert Rollout.objects.filter(reason="typed on a train").count() == 1


def test_a_proxys_own_page_is_no_dialog(rows: FleetRows, opened: Callable[..., Page]) -> None:
    page = opened("/models/digits/")
    page.route("**/roll-back/", lambda route: route.fulfill(status=502, body="<html><h1>Bad Gateway</h1></html>"))

    page.get_by_role("link", name="Roll back to 1").click()

    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("Conch failed (HTTP 502).")
    expect(page.get_by_text("Bad Gateway")).to_have_count(0)


def test_without_scripts_the_same_form_is_a_page(rows: FleetRows, opened: Callable[..., Page]) -> None:
    page = opened("/models/digits/", java_script_enabled=False)

    page.get_by_role("link", name="Roll back to 1").click()
    page.get_by_label("Why", exact=True).fill("scripts are off")
    page.get_by_role("button", name="Roll back 1 staging server from 2").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Roll back digits")
    assert Rollout.objects.latest("pk").reason == "scripts are off"
