"""Starts what every test process shares, before Django's settings are read: PostgreSQL and Valkey.

CONCH_TEST_DATABASE=sqlite runs the same suite on SQLite.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

from demo.parts.part import Part
from demo.parts.ports import free_port
from demo.parts.postgres import Postgres
from demo.parts.valkey import Valkey

P = TypeVar("P", bound=Part)

# A loaded machine is slow, and that is no fault of what is tested.
settings.register_profile("conch", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("conch")

_started: list[Part] = []
_folders: list[Path] = []


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Start the shared parts once; processes that xdist starts inherit their addresses."""
    if "CONCH_TEST_HOME" in os.environ:
        return
    home = Path(tempfile.mkdtemp(prefix="conch-test-"))
    _folders.append(home)
    os.environ["CONCH_TEST_HOME"] = str(home)
    valkey = _start(Valkey(home / "valkey", port=free_port()))
    os.environ["CONCH_BROKER_URL"] = valkey.broker_url
    if os.environ.get("CONCH_TEST_DATABASE", "postgresql") != "sqlite":
        postgres = _start(Postgres(home / "postgres", port=free_port(), is_fast=True))
        os.environ["CONCH_DATABASE_URL"] = postgres.url


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Stop what this process started."""
    while _started:
        _started.pop().stop()
    while _folders:
        shutil.rmtree(_folders.pop(), ignore_errors=True)


def _start(part: P) -> P:
    part.start()
    part.wait_ready()
    _started.append(part)
    return part
