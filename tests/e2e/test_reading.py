"""Reading the console: keys, theme, live parts, the upload's progress."""

import io
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django import Settings

from apps.deployments.models import Ban, Rollout
from apps.deployments.selectors.bans import identity
from apps.registry.models import Version
from tests.factories.fleet_extremes import break_things
from tests.factories.fleets import CONFIG, FleetRows

pytestmark = pytest.mark.e2e
SOON_MS = 15_000


def test_keys_go_places_and_search(rows: FleetRows, opened: Callable[..., Page]) -> None:
    page = opened("/")

    page.keyboard.press("g")
    page.keyboard.press("s")
    page.wait_for_url("**/servers/")
    page.keyboard.press("/")
    page.keyboard.type("digits")
    page.keyboard.press("Enter")

    page.wait_for_url("**/models/digits/")


def test_the_question_mark_lists_the_keys(opened: Callable[..., Page]) -> None:
    page = opened("/")

    page.keyboard.press("?")

    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()


def test_the_chosen_theme_is_there_before_the_first_paint_of_the_next_page(opened: Callable[..., Page]) -> None:
    page = opened("/", color_scheme="light")

    page.get_by_text("alice").click()
    page.get_by_role("button", name="Dark theme").click()
    page.goto("/models/")

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert 'data-theme="dark"' in page.request.get("/models/").text()


def test_a_moving_rollout_fills_up_and_its_end_is_told(rows: FleetRows, opened: Callable[..., Page]) -> None:
    moving = rows.rollout("digits", "prod", 1, 2, state="running")
    page = opened(f"/rollouts/{moving.pk}/")
    expect(page.locator("#live-rollout")).to_contain_text("moving")

    Rollout.objects.filter(pk=moving.pk).update(state="succeeded", finished_at=timezone.now())

    expect(page.locator("#announce")).to_contain_text("digits 1 → 2 in prod: done", timeout=SOON_MS)
    expect(page.locator("#live-rollout")).to_contain_text("took", timeout=SOON_MS)


def test_an_opened_reason_stays_open_when_the_page_moves(rows: FleetRows, opened: Callable[..., Page]) -> None:
    break_things(rows)
    page = opened("/servers/prod-2/")
    page.locator("details.reason summary").first.click()

    rows.observed("prod-2", "digits", 7)

    expect(page.locator("#live-server")).to_contain_text("! extra", timeout=SOON_MS)
    expect(page.locator("details.reason pre").first).to_be_visible()


def test_times_are_relative_and_the_absolute_is_on_hover(rows: FleetRows, opened: Callable[..., Page]) -> None:
    rows.rollout("digits", "prod", 1, 2)
    Rollout.objects.update(created_at=timezone.now() - timedelta(minutes=7))
    page = opened("/rollouts/")

    told = page.locator("time[data-relative]").first

    expect(told).to_have_text("7 min ago")
    assert "20" in (told.get_attribute("title") or "")


def test_what_is_copied_is_told_over_plain_http_too(opened: Callable[..., Page]) -> None:
    page = opened("/tokens/issue/")
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.get_by_label("Name").fill("ci")
    page.get_by_role("button", name="Issue").click()

    page.get_by_role("button", name="Copy").click()

    expect(page.locator(".copied")).to_have_text("Copied")
    assert page.evaluate("getSelection().toString()") == page.locator("#secret").text_content()


def test_an_upload_shows_its_bytes_and_leads_to_the_version(
    rows: FleetRows, opened: Callable[..., Page], settings: Settings, tmp_path: Path
) -> None:
    settings.CONCH = settings.CONCH | {"artifacts_dir": tmp_path}
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path / "receiving")
    page = opened("/models/digits/upload/")

    page.get_by_label("Archive").set_input_files({"name": "d.zip", "mimeType": "application/zip", "buffer": archive()})
    page.get_by_label("Notes").fill("from the browser")
    page.get_by_role("button", name="Upload", exact=True).click()

    page.wait_for_url("**/models/digits/versions/4/")
    assert Version.objects.get(number=4).notes == "from the browser"
    expect(page.locator("#live-version")).to_contain_text("Step 1 of 2: it waits for a worker.")


def test_a_refused_upload_says_why_and_keeps_the_form(rows: FleetRows, opened: Callable[..., Page]) -> None:
    page = opened("/models/digits/upload/")

    page.get_by_label("Archive").set_input_files({"name": "d.zip", "mimeType": "application/zip", "buffer": archive()})
    page.get_by_label("Version number").fill("1")
    page.get_by_label("Notes").fill("kept")
    page.get_by_role("button", name="Upload", exact=True).click()

    expect(page.get_by_role("alert")).to_contain_text("version_number_taken")
    expect(page.get_by_label("Notes")).to_have_value("kept")


def test_the_buttons_of_the_newest_versions_are_in_sight(rows: FleetRows, opened: Callable[..., Page]) -> None:
    Version.objects.update(created_by="bootstrap-admin", size_bytes=141 * 2**20)
    banned = rows.versions["digits", 2]
    Ban.objects.create(placement=rows.placements["digits", "prod"], version=banned, **identity(banned), reason="slow")
    page = opened("/models/digits/", viewport={"width": 1440, "height": 900})

    hidden = page.locator("#model-versions-scroll").evaluate("it => it.scrollWidth - it.clientWidth")

    assert hidden == 0


def archive() -> bytes:
    """A version of digits, zipped."""
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w") as archived:
        archived.writestr("digits/config.pbtxt", CONFIG)
        archived.writestr("digits/1/model.py", "class TritonPythonModel: ...\n")
    return kept.getvalue()
