"""What somebody in front of the console waits for, in a real browser over a large fleet."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page, sync_playwright

from bench.figures import Figure, percentile
from bench.stack import Stack, prepare_database
from demo.home import Home
from demo.programs import run_once, web

SERVERS, MODELS = 100, 200
CHROMIUM = Path("/usr/bin/chromium")
FIRST_PAINT_BAR_MS = 1_000
INTERACTION_BAR_MS = 100
SHIFT_BAR = 0.1
STEP_BAR_S = 1
VISITS = 10
SETTLE_MS = 1_500
PAGES = ("fleet", "models", "model", "version", "servers", "server", "rollouts", "rollout", "audit")
# From the browser's own clocks: the first content painted, what moved without being touched, and how long each
# touch took until the next frame (https://www.w3.org/TR/event-timing/; shorter ones than 16 ms are not told).
WATCH = """
window.seen = { shift: 0, events: [] };
new PerformanceObserver((list) => {
    for (const one of list.getEntries()) if (!one.hadRecentInput) seen.shift += one.value;
}).observe({ type: "layout-shift", buffered: true });
new PerformanceObserver((list) => {
    for (const one of list.getEntries()) seen.events.push(one.duration);
}).observe({ type: "event", durationThreshold: 16, buffered: true });
"""
TOLD = """() => ({
    paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
    shift: seen.shift,
    events: seen.events,
})"""
# When each step's words were first on the page, by the wall clock that made the step, too.
STEPS_SEEN = """() => {
    window.steps = {};
    const look = () => {
        const found = document.body.innerText.matchAll(/step \\d+ of the bench/g);
        for (const [words] of found) steps[words] ??= Date.now() / 1000;
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


def measure(stack: Stack) -> tuple[list[Figure], dict[str, Any]]:
    """Three figures for each page, and when a step is seen; the fleet has a database and a web server of its own."""
    home = Home(state=stack.home.state / "large", shared=stack.home.shared)
    home.make()
    variables = stack.variables_of(home)
    prepare_database(home, variables)
    found = _grow(home, variables)
    port = home.port("web")
    program = web(home, port=port, variables=variables)
    try:
        program.start()
        with _browser(f"http://127.0.0.1:{port}", found["session"]) as context:
            samples = {name: _visit(stack, context, name, found["pages"][name]["path"]) for name in PAGES}
            samples["step"] = _steps(stack, context, home, variables, found["moving"])
    finally:
        program.stop()
    return _figures(samples), samples


def _grow(home: Home, variables: dict[str, str]) -> dict[str, Any]:
    out = home.state / "survey.json"
    command = f"from bench.surveyed import survey; from bench.crowd_sizes import LARGE; survey(LARGE, {str(out)!r})"
    run_once("survey", ["manage.py", "shell", "--no-imports", "-c", command], home=home, variables=variables)
    found: dict[str, Any] = json.loads(out.read_text())
    return found


@contextmanager
def _browser(url: str, session: str) -> Iterator[BrowserContext]:
    with sync_playwright() as started:
        options = ["--no-sandbox"] * (os.geteuid() == 0)
        browser = started.chromium.launch(executable_path=CHROMIUM, args=options)
        context = browser.new_context(base_url=url, viewport={"width": 1440, "height": 900})
        context.add_cookies([{"name": "sessionid", "value": session, "url": url}])
        context.add_init_script(WATCH)
        yield context
        browser.close()


def _visit(stack: Stack, context: BrowserContext, name: str, path: str) -> dict[str, Any]:
    """Open the page again and again, each time in a tab of its own, and touch what every page has."""
    stack.say(f"console: {name}")
    told = []
    for _ in range(VISITS):
        page = context.new_page()
        page.goto(path)
        page.wait_for_timeout(SETTLE_MS)
        _touch(page)
        told.append(page.evaluate(TOLD))
        page.close()
    return {
        "first_paint_ms": [round(one["paint"], 1) for one in told],
        "shift": [round(one["shift"], 4) for one in told],
        "interaction_ms": [max(one["events"], default=0) for one in told],
    }


def _touch(page: Page) -> None:
    """Open the menu, search, walk with the keyboard, open a dialog where there is one."""
    page.locator(".who summary").click()
    page.keyboard.press("Escape")
    page.locator("h1").first.click()
    page.keyboard.press("/")
    page.keyboard.type("model-01", delay=30)
    page.locator("#found a").first.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    page.locator("h1").first.click()
    for _ in range(5):
        page.keyboard.press("Tab")
    opener = page.locator("main a[data-dialog]:visible")
    if opener.count():
        opener.first.click()
        page.locator("dialog[open] form, dialog[open] .message").first.wait_for()
        page.keyboard.press("Escape")


def _steps(
    stack: Stack, context: BrowserContext, home: Home, variables: dict[str, str], rollout: int
) -> dict[str, list[float]]:
    """How long after each step was committed a page that stands open shows it."""
    stack.say("console: steps")
    page, out = context.new_page(), home.state / "steps.json"
    page.goto(f"/rollouts/{rollout}/")
    page.evaluate(STEPS_SEEN)
    command = f"from bench.console_steps import make_steps; make_steps({rollout}, {str(out)!r})"
    run_once("steps", ["manage.py", "shell", "--no-imports", "-c", command], home=home, variables=variables)
    page.wait_for_timeout(2 * SETTLE_MS)
    seen, made = page.evaluate("steps"), json.loads(out.read_text())
    page.close()
    return {"shown_s": [round(seen[words] - at, 3) for words, at in made.items()]}


def _figures(samples: dict[str, Any]) -> list[Figure]:
    figures = [Figure("step_shown_s", percentile(samples["step"]["shown_s"], 0.95), "s", STEP_BAR_S)]
    for name in PAGES:
        seen = samples[name]
        figures.append(
            Figure(f"{name}_first_paint_ms", percentile(seen["first_paint_ms"], 0.95), "ms", FIRST_PAINT_BAR_MS)
        )
        figures.append(
            Figure(f"{name}_interaction_ms", percentile(seen["interaction_ms"], 0.95), "ms", INTERACTION_BAR_MS)
        )
        figures.append(Figure(f"{name}_layout_shift", max(seen["shift"]), "", SHIFT_BAR))
    return figures
