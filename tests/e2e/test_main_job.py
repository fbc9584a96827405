"""The main job as somebody on call does it, in a real browser over the whole stack: nothing here is a stand-in."""

import os
import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from apps.access import services as access
from apps.common.actor import COMMAND
from apps.deployments import services
from apps.fleet import connecting
from apps.fleet import selectors as fleet
from tests.factories.triton_models import ask
from tests.fixtures.stack import OPERATOR, PASSWORD, Stack, running_stack
from tests.fixtures.traffic import Traffic
from tests.fixtures.tritons import StartTriton
from tests.fixtures.world import World, archive

pytestmark = [pytest.mark.e2e, pytest.mark.live]
PATIENCE_MS = 60_000
WEIGHTS_BYTES = 2**21
UPLOAD_BYTES_S = 2**20
MARKED = """
    (rollout) => [...document.querySelectorAll(".chart")]
        .find((chart) => chart.dataset.chart === "requests")
        .querySelector(".chart-plot").data
        ?.find((trace) => trace.meta.role === "marks")?.customdata
        .filter((url) => url === `/rollouts/${rollout}/`).length >= 2
"""
IS_FOCUSED = """
    ([words, tag]) => (document.activeElement.textContent.trim().startsWith(words)
        || document.activeElement.getAttribute("href") === words) && document.activeElement.tagName.includes(tag)
"""
IS_SEEN = """
    () => document.activeElement.matches(":focus-visible")
        && getComputedStyle(document.activeElement).outlineStyle !== "none"
"""
_models = count(1)


@pytest.fixture
def stack(transactional_db: None, start_triton: StartTriton, tmp_path: Path) -> Iterator[Stack]:
    """Version 1 of a model is live in prod, on two servers."""
    names = ("prod-1", "prod-2")
    first = start_triton(names[0])
    tritons = [first, start_triton(names[1], repository=first.repository)]
    world = World.of("prod", f"digits{next(_models)}", tritons)
    world.promote(world.upload())
    with running_stack(world, tmp_path) as running:
        yield running


@pytest.fixture
def page(stack: Stack, new_context: Callable[..., BrowserContext]) -> Page:
    """The console in front of nobody yet."""
    found = new_context(base_url=stack.url, viewport={"width": 1440, "height": 900}).new_page()
    found.set_default_timeout(PATIENCE_MS)
    found.goto("/")
    return found


def test_upload_promote_watch_roll_back_and_find_it_in_the_audit(stack: Stack, page: Page, tmp_path: Path) -> None:
    world = stack.world
    page.get_by_label("Username").fill(OPERATOR)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()

    with Traffic(world.tritons["prod-1"].grpc, world.model, clients=1, pause_s=0.02) as traffic:
        upload(page, world, tmp_path)
        promoted = promote(page)
        page.goto(f"/models/{world.model}/?range=900")
        expect(requests_chart(page)).to_have_attribute("aria-label", re.compile(r"v2 [1-9]"), timeout=PATIENCE_MS)
        page.wait_for_function(MARKED, arg=promoted)

        rolled_back = roll_back(page)
        page.goto(f"/models/{world.model}/?range=900")
        expect(requests_chart(page)).to_have_attribute("aria-label", re.compile(r"v1 [1-9]"), timeout=PATIENCE_MS)
        page.wait_for_function(MARKED, arg=rolled_back)

    page.get_by_role("link", name="Audit").click()
    told = page.get_by_role("row").filter(has_text="roll back").filter(has_text="answers look wrong")
    expect(told).to_contain_text(OPERATOR)
    expect(told).to_contain_text(f"rollout {rolled_back} {world.model} 2 → 1")
    assert answering(world) == {"prod-1": 1, "prod-2": 1}
    assert traffic.versions == {1, 2}
    assert traffic.failures == []


def test_promoting_approving_trying_and_rolling_back_need_no_mouse(
    stack: Stack, page: Page, new_context: Callable[..., BrowserContext]
) -> None:
    world = stack.world
    world.upload()
    services.change_policy(COMMAND, environment="prod", document={"approval": "another"})
    access.add_user(COMMAND, username="rita", password=PASSWORD)
    access.grant_role(COMMAND, username="rita", role="operator")
    second = new_context(base_url=stack.url).new_page()
    sign_in_by_keys(page, OPERATOR)

    open_version_by_keys(page, world.model, 2)
    open_dialog_by_keys(page, "Promote")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("link", name="Promote…")).to_be_focused()
    page.keyboard.press("Enter")
    type_reason(page, "better on held-out images")
    press(page, "Promote", tag="BUTTON")
    page.wait_for_url("**/rollouts/*/")
    tab_to(page, "Abort")

    approve_by_keys(second)
    state = page.locator("#live-rollout .facts .chip")
    expect(state).to_have_text("moving >", timeout=PATIENCE_MS)
    expect(page.get_by_role("link", name="Abort…")).to_be_focused()
    expect(state).to_have_text("done", timeout=PATIENCE_MS)
    expect(page.locator("#live-rollout")).to_be_focused()

    open_version_by_keys(page, world.model, 2)
    press(page, "Try it")
    page.wait_for_url("**/try/")
    press(page, "Send one request")
    expect(page.get_by_role("heading", name="Answer")).to_be_visible(timeout=PATIENCE_MS)

    search_by_keys(page, world.model)
    open_dialog_by_keys(page, "Roll back to 1")
    type_reason(page, "no mouse at hand")
    press(page, "Roll back 2 prod servers from 2 to 1 (hot: instant)")
    expect(page.locator("#live-rollout")).to_contain_text("done", timeout=PATIENCE_MS)
    expect(page.locator("#live-rollout")).to_contain_text("no mouse at hand")
    assert answering(world) == {"prod-1": 1, "prod-2": 1}


def upload(page: Page, world: World, folder: Path) -> None:
    """Version 2, over a line slow enough to see its progress; back when it is ready."""
    file = folder / "version-2.zip"
    file.write_bytes(archive(world.model, weights=os.urandom(WEIGHTS_BYTES)))
    page.get_by_role("link", name=world.model, exact=True).click()
    page.get_by_role("link", name="Upload a version").click()
    page.get_by_label("Archive").set_input_files(file)
    line = page.context.new_cdp_session(page)
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": UPLOAD_BYTES_S}
    line.send("Network.emulateNetworkConditions", slow)

    page.get_by_role("button", name="Upload", exact=True).click()

    expect(page.locator("[data-upload-state]")).to_contain_text(re.compile(r"of 2\.0 MiB, .*/s, about \d+ s left"))
    line.send("Network.emulateNetworkConditions", slow | {"uploadThroughput": -1})
    page.wait_for_url("**/versions/2/")
    expect(page.locator("#live-version")).to_contain_text("ready", timeout=PATIENCE_MS)


def promote(page: Page) -> str:
    """From the version's page; the number of the rollout once it is done."""
    page.get_by_role("link", name="Promote…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Why").fill("better on held-out images")
    dialog.get_by_role("button", name="Promote", exact=True).click()
    return end_of_rollout(page)


def roll_back(page: Page) -> str:
    """Two clicks and a reason from the model's page; the number of the rollout once it is done."""
    page.get_by_role("link", name="Roll back to 1").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Why").fill("answers look wrong")
    dialog.get_by_role("button", name="Roll back 2 prod servers from 2 to 1 (hot: instant)").click()
    return end_of_rollout(page)


def end_of_rollout(page: Page) -> str:
    page.wait_for_url("**/rollouts/*/")
    expect(page.locator("#live-rollout .facts .chip")).to_have_text("done", timeout=PATIENCE_MS)
    return page.url.rstrip("/").rsplit("/", 1)[-1]


def requests_chart(page: Page) -> Locator:
    return page.locator('.chart[data-chart="requests"] .chart-plot')


def answering(world: World) -> dict[str, int]:
    """The version that answers an unversioned request, by server."""
    return {name: ask(connecting.connect(fleet.get_server(name)), world.model).version for name in world.tritons}


def tab_to(page: Page, words: str, *, tag: str = "") -> None:
    """Press Tab until what has the focus begins with those words."""

    def is_there() -> bool:
        page.keyboard.press("Tab")
        return bool(page.evaluate(IS_FOCUSED, [words, tag]))

    assert any(is_there() for _ in range(80)), f"Tab does not lead to {words or tag}"
    assert page.evaluate(IS_SEEN)


def press(page: Page, words: str, *, tag: str = "") -> None:
    """Go there by Tab and press Enter."""
    tab_to(page, words, tag=tag)
    page.keyboard.press("Enter")


def sign_in_by_keys(page: Page, name: str) -> None:
    """From the page that asks who one is."""
    page.get_by_label("Username").focus()
    page.keyboard.type(name)
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Fleet")).to_be_visible(timeout=PATIENCE_MS)


def search_by_keys(page: Page, words: str) -> None:
    page.keyboard.press("/")
    page.keyboard.type(words)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/models/{words}/")


def open_version_by_keys(page: Page, model: str, number: int) -> None:
    # What is typed while the page still changes is lost with the page before.
    with page.expect_navigation():
        page.keyboard.press("g")
        page.keyboard.press("f")
    search_by_keys(page, model)
    press(page, f"/models/{model}/versions/{number}/")
    page.wait_for_url(f"**/versions/{number}/")


def open_dialog_by_keys(page: Page, words: str) -> None:
    """The focus goes into it, to where one begins."""
    press(page, words, tag="A")
    expect(page.get_by_role("dialog").get_by_label("Why")).to_be_visible()
    assert page.evaluate(IS_SEEN)
    assert page.evaluate("document.querySelector('dialog').contains(document.activeElement)")


def type_reason(page: Page, words: str) -> None:
    expect(page.get_by_role("dialog").get_by_label("Why")).to_be_visible()
    tab_to(page, "", tag="TEXTAREA")
    page.keyboard.type(words)


def approve_by_keys(page: Page) -> None:
    """Somebody else, from the list of rollouts."""
    page.goto("/")
    sign_in_by_keys(page, "rita")
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.wait_for_url("**/rollouts/")
    where = page.locator("#live-rollouts tbody th a").first.get_attribute("href") or ""
    press(page, where)
    page.wait_for_url(f"**{where}")
    open_dialog_by_keys(page, "Approve")
    type_reason(page, "seen on staging")
    press(page, "Approve", tag="BUTTON")
