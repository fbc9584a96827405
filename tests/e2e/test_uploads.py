"""Uploading in a real browser: dropped, broken off, reloaded, and there in the end."""

import base64
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from apps.registry.models import Upload, Version
from tests.factories.fleets import FleetRows
from tests.fixtures.lines import Line, line_to

SIZE_BYTES = 3 << 20
SLOW = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 1 << 20}
DROP = """([form, name, encoded]) => {
  const bytes = Uint8Array.from(atob(encoded), (one) => one.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], name, { type: "application/zip", lastModified: 0 }));
  for (const kind of ["dragenter", "dragover", "drop"]) {
    form.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }
}"""


@pytest.fixture
def content(settings: Settings, tmp_path: Path) -> bytes:
    """Some bytes to send, and a store for them whose leases are short."""
    settings.CONCH = settings.CONCH | {"artifacts_dir": tmp_path, "lease_s": 1}
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path / "receiving")
    return os.urandom(SIZE_BYTES)


def drop(page: Page, content: bytes) -> None:
    form = page.locator("form[data-upload-url]").element_handle()
    page.evaluate(DROP, [form, "dropped.zip", base64.b64encode(content).decode()])


@pytest.fixture
def line(live_server: LiveServer) -> Iterator[Line]:
    """A line to the web server that can be cut."""
    with line_to(urlsplit(live_server.url).port or 0) as line:
        yield line


def test_a_dropped_file_survives_a_broken_connection_and_a_reload(
    rows: FleetRows, opened: Callable[..., Page], content: bytes, line: Line, live_server: LiveServer
) -> None:
    host = urlsplit(live_server.url).hostname
    page = opened(f"http://{host}:{line.port}/models/digits/upload/")
    throttle = page.context.new_cdp_session(page)
    throttle.send("Network.emulateNetworkConditions", SLOW)
    state = page.locator("[data-upload-state]")

    drop(page, content)
    page.get_by_label("Notes").fill("dropped here")
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(state).to_contain_text(re.compile(r"[12]\.\d MiB of 3\.0 MiB"))
    line.cut()
    expect(state).to_contain_text("The connection broke.")
    line.mend()
    expect(state).to_contain_text(re.compile(r"MiB of 3\.0 MiB"))
    page.once("dialog", lambda dialog: dialog.accept())
    page.reload()
    unfinished = page.get_by_role("region", name="Unfinished uploads")
    expect(unfinished).to_contain_text("dropped.zip")
    received = Upload.objects.get().received_bytes
    throttle.send("Network.emulateNetworkConditions", SLOW | {"uploadThroughput": -1})
    drop(page, content)
    expect(page.locator("[data-found]")).to_contain_text("of this file are there already")
    assert page.get_by_label("Notes").input_value() == "dropped here"
    page.get_by_role("button", name="Upload", exact=True).click()
    page.wait_for_url("**/models/digits/versions/4/")

    version = Version.objects.get(number=4)
    assert 0 < received < SIZE_BYTES
    assert Upload.objects.count() == 1
    assert (version.digest, version.notes) == (hashlib.sha256(content).hexdigest(), "dropped here")


def test_another_file_that_begins_alike_is_no_mixture_of_two(
    rows: FleetRows, opened: Callable[..., Page], content: bytes
) -> None:
    page = opened("/models/digits/upload/")
    throttle = page.context.new_cdp_session(page)
    throttle.send("Network.emulateNetworkConditions", SLOW)
    drop(page, content)
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(page.locator("[data-upload-state]")).to_contain_text(re.compile(r"[12]\.\d MiB of 3\.0 MiB"))
    page.once("dialog", lambda dialog: dialog.accept())
    page.reload()
    throttle.send("Network.emulateNetworkConditions", SLOW | {"uploadThroughput": -1})
    retrained = content[: 256 << 10] + os.urandom(SIZE_BYTES - (256 << 10))

    drop(page, retrained)
    expect(page.locator("[data-found]")).to_be_visible()
    page.get_by_role("button", name="Upload", exact=True).click()
    page.wait_for_url("**/models/digits/versions/4/")

    assert Version.objects.get(number=4).digest == hashlib.sha256(retrained).hexdigest()
    assert Upload.objects.get(state="receiving").received_bytes > 256 << 10


def test_a_file_that_was_written_over_since_it_was_chosen_is_told_and_not_sent(
    rows: FleetRows, opened: Callable[..., Page], content: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "retrained.zip"
    file.write_bytes(content)
    page = opened("/models/digits/upload/")
    page.locator("input[type=file]").set_input_files(file)
    file.write_bytes(content[::-1] + b"longer")

    page.get_by_role("button", name="Upload", exact=True).click()

    expect(page.get_by_role("alert")).to_contain_text("it was changed, moved or removed since it was chosen")
    assert Upload.objects.count() == 0


def test_a_file_that_cannot_be_read_is_told_as_soon_as_it_is_chosen(
    rows: FleetRows, opened: Callable[..., Page], content: bytes
) -> None:
    page = opened("/models/digits/upload/")
    page.evaluate(
        "() => { Blob.prototype.arrayBuffer = async () => { throw new DOMException('', 'NotReadableError'); }; }"
    )

    drop(page, content)

    expect(page.get_by_role("alert")).to_contain_text("it was changed, moved or removed since it was chosen")
    expect(page.get_by_role("button", name="Upload", exact=True)).to_be_enabled()


def test_a_cancelled_upload_leaves_nothing(rows: FleetRows, opened: Callable[..., Page], content: bytes) -> None:
    page = opened("/models/digits/upload/")
    page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", SLOW)
    drop(page, content)
    page.get_by_role("button", name="Upload", exact=True).click()
    told = re.compile(r"MiB of 3\.0 MiB, (time left not known yet|[\d.]+ [KM]?i?B/s, about \d+ s left)")
    expect(page.locator("[data-upload-state]")).to_contain_text(told)
    expect(page.locator("[data-upload-state]")).to_contain_text(re.compile(r"/s, about \d+ s left"))

    page.get_by_role("button", name="Cancel the upload").click()

    expect(page.get_by_role("alert")).to_contain_text("Upload cancelled.")
    assert Upload.objects.count() == 0


def test_what_is_cancelled_before_its_first_byte_is_not_sent(
    rows: FleetRows, opened: Callable[..., Page], content: bytes
) -> None:
    page = opened("/models/digits/upload/")
    page.evaluate(
        """() => { crypto.subtle.digest = () => new Promise((done) => {
            window.digested = () => done(new ArrayBuffer(32));
        }); }"""
    )
    drop(page, content)
    page.get_by_role("button", name="Upload", exact=True).click()
    page.wait_for_function("() => window.digested")

    page.get_by_role("button", name="Cancel the upload").click()
    page.evaluate("() => window.digested()")
    page.wait_for_timeout(1_000)

    expect(page.get_by_role("alert")).to_contain_text("Upload cancelled.")
    expect(page).to_have_url(re.compile("/upload/$"))
    assert Upload.objects.count() == 0


def test_an_error_stands_beside_its_field_and_takes_the_focus(
    rows: FleetRows, opened: Callable[..., Page], content: bytes
) -> None:
    page = opened("/models/digits/upload/")
    drop(page, content)
    page.get_by_label("Version number").fill("1")

    page.get_by_role("button", name="Upload", exact=True).press("Enter")

    expect(page.locator("#id_number_refused")).to_contain_text("has a version 1 already")
    expect(page.get_by_label("Version number")).to_be_focused()
    expect(page.get_by_role("alert")).to_contain_text("version_number_taken")


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_the_page_is_readable_with_unfinished_uploads(
    width: int, scheme: str, rows: FleetRows, opened: Callable[..., Page], content: bytes
) -> None:
    page = opened("/models/digits/upload/", viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", SLOW)
    drop(page, content)
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(page.locator("[data-upload-state]")).to_contain_text("MiB of 3.0 MiB")
    page.once("dialog", lambda dialog: dialog.accept())
    page.reload()
    drop(page, content)
    expect(page.locator("[data-found]")).to_be_visible()

    found = Axe().run(page)
    wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")

    assert found.violations_count == 0, found.generate_report()
    assert not wide
