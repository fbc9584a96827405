"""Makes the pictures of README and docs from a demo that has just started: `.venv/bin/python -m tests.pictures`.

Reads where the demo is from $CONCH_HOME/demo.json (`.conch/demo.json`); `--into FOLDER` puts the pictures elsewhere. It
promotes version 2 in prod and then waits: charts need a past. `--past-s 0` takes a demo as it stands.
"""

import argparse
import json
import os
import re
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

from demo.home import REPOSITORY
from demo.rest import Conch
from tests.pictures.browser import chromium, keep, open_drawn, signed_in, wait_drawn
from tests.pictures.crowd import crowd
from tests.pictures.gpus import scraped_gpus

STATE = Path(os.environ.get("CONCH_HOME") or REPOSITORY / ".conch")
MODEL = "/models/digits/?range=900"
PAST_S = 420


def main() -> None:
    """One picture after another."""
    options = argparse.ArgumentParser(description="Makes the pictures of README and docs.")
    options.add_argument("--into", type=Path, default=REPOSITORY / "docs" / "images")
    options.add_argument("--past-s", type=int, default=PAST_S, help="how long to wait before charts are shown")
    given = options.parse_args()
    demo = json.loads((STATE / "demo.json").read_text())
    with scraped_gpus(STATE), chromium() as browser:
        moving(browser, demo, given.into)
        print(f"waiting {given.past_s} s for charts to have a past", flush=True)
        time.sleep(given.past_s)
        with signed_in(browser, demo, theme="light") as page:
            pages(page, given.into)
            parts(page, given.into)
            questions(page, given.into)
        with signed_in(browser, demo, theme="dark") as page:
            twins(page, given.into)
        with signed_in(browser, demo, theme="light") as page:
            advice(page, given.into, demo)


def moving(browser: Browser, demo: dict[str, Any], into: Path) -> None:
    """A promotion in two waves, seen while its gates are judged after the first; not where it went already."""
    conch = Conch(demo["url"], token=demo["api_token"])
    if any(each["to_version"] == 2 for each in conch.get("rollouts?environment=prod&model=digits")["results"]):
        return
    wanted = {"environment": "prod", "model": "digits", "version": 2, "reason": "better on held-out images"}
    number = conch.post("rollouts", wanted)["id"]
    with signed_in(browser, demo, theme="light") as page:
        open_drawn(page, f"/rollouts/{number}/", height=1000)
        expect(page.get_by_role("row", name=re.compile("^p99"))).to_contain_text("passed")
        wait_drawn(page)
        keep(page, into / "rollout.png")
    while not conch.get(f"rollouts/{number}?wait=30")["has_ended"]:
        pass


def pages(page: Page, into: Path) -> None:
    """What one sees first."""
    for where, name, height in (
        ("/", "fleet", 640),
        (MODEL, "model", 1000),
        ("/servers/prod-1/?range=900", "server", 1000),
        ("/gpus/?range=900", "gpus", 900),
        (newest_release(page), "release", 720),
    ):
        open_drawn(page, where, height=height)
        keep(page, into / f"{name}.png")


def twins(page: Page, into: Path) -> None:
    """The main ones in the dark."""
    for where, name, height in (
        ("/", "fleet-dark", 640),
        (MODEL, "model-dark", 1000),
        ("/gpus/?range=900", "gpus-dark", 900),
    ):
        open_drawn(page, where, height=height)
        keep(page, into / f"{name}.png")


def parts(page: Page, into: Path) -> None:
    """One part of a page alone."""
    open_drawn(page, "/models/digits/versions/6/")
    keep(page.locator("#live-report"), into / "preflight.png")
    open_drawn(page, "/environments/prod/policy/")
    keep(page.locator("main form"), into / "policy.png")
    open_drawn(page, MODEL)
    slider = page.get_by_label("Through the changes")
    slider.focus()
    for _ in range(2):
        slider.press("ArrowLeft")
    expect(page.locator("#then-result")).to_contain_text("back to 1")
    keep(page.locator("#then"), into / "then.png")


def questions(page: Page, into: Path) -> None:
    """The dialog before a rollback, and one request by hand."""
    open_drawn(page, MODEL)
    page.get_by_label("prod", exact=True).get_by_role("link", name=re.compile("^Roll back to 1")).click()
    page.locator("#dialog").get_by_label("Why").fill("wrong labels for 7")
    keep(page, into / "rollback.png")
    open_drawn(page, "/models/digits/versions/2/try/", height=1000)
    page.get_by_role("link", name=re.compile("^sample")).first.click()
    page.get_by_role("button", name="Send one request").click()
    page.get_by_role("region", name="Answer").wait_for()
    keep(page, into / "try.png")


def advice(page: Page, into: Path, demo: dict[str, Any]) -> None:
    """What would help, once more is asked than one instance can take. Last: charts show the crowd from then on."""
    panel = page.locator("section", has=page.get_by_role("heading", name="What would help in prod"))
    with crowd(demo["servers"], environment="prod", model="digits"):
        open_drawn(page, MODEL)
        expect(panel.get_by_role("link", name=re.compile("^Try ")).first).to_be_visible(timeout=300_000)
    keep(panel, into / "advice.png")


def newest_release(page: Page) -> str:
    """Where the release that began last is."""
    page.goto("/releases/")
    return page.get_by_role("row").nth(1).get_by_role("link").first.get_attribute("href") or "/releases/"


if __name__ == "__main__":
    main()
