"""What all tests may use: an actor, and one real browser for a test process."""

import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections
from playwright.sync_api import Playwright, expect

from apps.common.actor import COMMAND, Actor
from tests.fixtures.waiting import eventually

pytest_plugins = ["tests.fixtures.tritons"]
# Playwright runs an event loop in the test's thread; the tests themselves are as synchronous as any.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

# How long a browser's page may take to become as it should on a machine that does four things at once.
expect.set_options(timeout=20_000)

CHROMIUM = "/usr/bin/chromium"
QUIET = (
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture
def admin() -> Actor:
    """Whoever sits at the machine: may do everything."""
    return COMMAND


@pytest.fixture(scope="session")
def base_url() -> str:
    """Empty: pages are opened by whole addresses. (pytest-base-url's own fixture warns under pytest 9.)"""
    return ""


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The system's Chromium, without its own errands; root has no sandbox."""
    root = ("--no-sandbox",) if os.geteuid() == 0 else ()
    return browser_type_launch_args | {"executable_path": CHROMIUM, "args": [*QUIET, *root]}


@pytest.fixture(scope="session")
def playwright(playwright: Playwright) -> Iterator[Playwright]:
    """Without the database connection it leaves open: Django keeps another one while its event loop runs.

    Nobody could close it any more when the database goes.
    """
    yield playwright
    connections.close_all()


@pytest.fixture(autouse=True)
def settled(request: pytest.FixtureRequest) -> Iterator[None]:
    """Between a browser's end and the database's: what its pages still asked for is answered.

    A request in the middle of its queries and the emptying of all tables lock each other out.
    """
    yield
    if {"live_server", "new_context"} <= set(request.fixturenames):
        assert eventually(lambda: not _answering(), timeout_s=30), _answering()


def _answering() -> list[str]:
    """The live server's threads that have a connection; a browser that is closed has none."""
    return [thread.name for thread in threading.enumerate() if "process_request_thread" in thread.name]
