"""Somebody signed in, and what they see as a PNG."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

CHROMIUM = "/usr/bin/chromium"
SIZE = {"width": 1440, "height": 900}
DRAWN_TIMEOUT_MS = 60_000
ALL_DRAWN = "() => [...document.querySelectorAll('.chart')].every((one) => one.dataset.state)"


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser the tests use; patient."""
    expect.set_options(timeout=DRAWN_TIMEOUT_MS)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"] * (os.geteuid() == 0))
        yield browser
        browser.close()


@contextmanager
def signed_in(browser: Browser, demo: Mapping[str, str], *, theme: str) -> Iterator[Page]:
    """A page of somebody who has signed in, in one of the two themes."""
    context = browser.new_context(base_url=demo["url"], viewport=SIZE, color_scheme=theme)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(DRAWN_TIMEOUT_MS)
    page.goto("/")
    page.get_by_label("Username").fill(demo["username"])
    page.get_by_label("Password").fill(demo["password"])
    page.get_by_role("button", name="Sign in").click()
    yield page
    context.close()


def open_drawn(page: Page, where: str, *, height: int = 900) -> None:
    """Open, and wait until charts and numbers are drawn."""
    page.set_viewport_size({"width": SIZE["width"], "height": height})
    page.goto(where)
    wait_drawn(page)


def wait_drawn(page: Page) -> None:
    """Charts are drawn or say why not, and numbers are there."""
    page.wait_for_function(ALL_DRAWN, timeout=DRAWN_TIMEOUT_MS)
    for number in page.locator("[data-number]").all():
        number.get_by_text(re.compile(r"\d|–")).first.wait_for(timeout=DRAWN_TIMEOUT_MS)


def keep(shown: Page | Locator, file: Path) -> None:
    """What is seen now, packed as small as PNG can."""
    Image.open(BytesIO(shown.screenshot(animations="disabled"))).convert("RGB").save(file, optimize=True)
    print(f"{file.name}: {file.stat().st_size / 1024:.0f} KiB", flush=True)
