"""Makes the pictures of the documentation from a running demo: `.venv/bin/python -m demo.screenshots`.

Reads where the demo is from $CONCH_HOME/demo.json (`.conch/demo.json`); `--into FOLDER` puts the pictures elsewhere.
To have something to look at, promote version 2 in prod a few minutes before.
"""

import argparse
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from demo.home import REPOSITORY

IMAGES = REPOSITORY / "docs" / "images"
STATE = Path(os.environ.get("CONCH_HOME") or REPOSITORY / ".conch")
CHROMIUM = "/usr/bin/chromium"
SIZE = {"width": 1440, "height": 900}
DRAWN_TIMEOUT_MS = 30_000


def main() -> None:
    """One picture after another."""
    options = argparse.ArgumentParser(description="Makes the pictures of the documentation.")
    options.add_argument("--into", type=Path, default=IMAGES)
    options.add_argument("--url", help="where the console is, when not where the demo says")
    given = options.parse_args()
    demo = json.loads((STATE / "demo.json").read_text())
    demo["url"] = given.url or demo["url"]
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"] * (os.geteuid() == 0))
        with signed_in(browser, demo, theme="light") as page:
            take(page, "/", given.into / "fleet.png")
            take(page, "/models/digits/?range=900", given.into / "model.png", height=1000)
            take(page, newest_rollout(page), given.into / "rollout.png")
            take(page, "/servers/prod-1/?range=900", given.into / "server.png", height=1000)
            take(page, "/models/digits/versions/6/", given.into / "preflight.png", part="#live-report")
            take(page, "/environments/prod/policy/", given.into / "policy.png", part="main form")
            take(page, answered_request(page), given.into / "try.png", height=1000)
        with signed_in(browser, demo, theme="dark") as page:
            take(page, "/models/digits/?range=900", given.into / "model-dark.png", height=1000)
        browser.close()


@contextmanager
def signed_in(browser: Browser, demo: dict[str, Any], *, theme: str) -> Iterator[Page]:
    """A page of somebody who has signed in, in one of the two themes."""
    context = browser.new_context(base_url=demo["url"], viewport=SIZE, color_scheme=theme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto("/")
    page.get_by_label("Username").fill(demo["username"])
    page.get_by_label("Password").fill(demo["password"])
    page.get_by_role("button", name="Sign in").click()
    yield page
    context.close()


def newest_rollout(page: Page) -> str:
    """The path of the rollout that began last."""
    page.goto("/rollouts/")
    return page.get_by_role("row").nth(1).get_by_role("link").first.get_attribute("href") or "/rollouts/"


def answered_request(page: Page) -> str:
    """The path of a request by hand that was made just now, once its answer is there."""
    page.goto("/models/digits/versions/2/try/")
    page.get_by_role("link", name=re.compile("^sample")).first.click()
    page.get_by_role("button", name="Send one request").click()
    page.get_by_role("region", name="Answer").wait_for(timeout=DRAWN_TIMEOUT_MS)
    return page.url


def take(page: Page, where: str, file: Path, *, height: int = 900, part: str = "") -> None:
    """Open, wait until charts and numbers are drawn, keep what one sees, or a part of the page alone."""
    page.set_viewport_size({"width": SIZE["width"], "height": height})
    page.goto(where)
    page.wait_for_function(
        "() => [...document.querySelectorAll('.chart')].every((one) => one.dataset.state)", timeout=DRAWN_TIMEOUT_MS
    )
    for number in page.locator("[data-number]").all():
        number.get_by_text(re.compile(r"\d")).wait_for(timeout=DRAWN_TIMEOUT_MS)
    if part:
        page.locator(part).screenshot(path=file, animations="disabled")
    else:
        page.screenshot(path=file, animations="disabled")
    print(f"{file.name}: {file.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
