"""What all tests may use: an actor, and one real browser for a test process."""

import os
from typing import Any

import pytest

from apps.common.actor import COMMAND, Actor

pytest_plugins = ["tests.fixtures.tritons"]
# Playwright runs an event loop in the test's thread; the tests themselves are as synchronous as any.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

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
