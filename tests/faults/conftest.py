"""The ground for each row, and the page of a whole run."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from pytest_django import Settings

from demo.parts.ports import free_port
from demo.parts.postgres import Postgres
from tests.faults import report as page
from tests.faults.ground import Ground
from tests.faults.table import Fault
from tests.fixtures.traffic import Traffic
from tests.fixtures.world import World
from tests.worker.conftest import make_world, triton_of

__all__ = ["make_world", "triton_of"]
LEASE_S = 1


@pytest.fixture
def stand(
    make_world: Callable[..., World], tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Fault], Any]:
    """Makes the ground that a row asks for; it holds as long as the `with` block."""
    monkeypatch.setenv("CONCH_LEASE_S", str(LEASE_S))
    settings.CONCH = {**settings.CONCH, "lease_s": LEASE_S}

    @contextmanager
    def standing(fault: Fault) -> Iterator[Ground]:
        with ExitStack() as running:
            database = running.enter_context(_own_database(tmp_path)) if fault.has_own_database else None
            options = {"load_models": None} if fault.is_fresh else {}
            world = make_world(fault.servers, is_fresh=fault.is_fresh, policy=dict(fault.policy), **options)
            world.promote(world.upload())
            ground = Ground(world, tmp_path, running, database=database)
            clients = world.tritons if fault.has_clients else {}
            for name, triton in clients.items():
                asking = Traffic(triton.grpc, world.model, clients=1, pause_s=0.02)
                ground.traffic[name] = running.enter_context(asking)
            yield ground

    return standing


@contextmanager
def _own_database(folder: Path) -> Iterator[Postgres]:
    """This process's connection leads to a PostgreSQL that may be ended: nobody else is on it."""
    database = Postgres(folder / "postgres", port=free_port())
    database.start()
    before = {name: connection.settings_dict[name] for name in ("HOST", "PORT", "NAME", "USER")}
    connection.close()
    connection.settings_dict.update(HOST="127.0.0.1", PORT=database.port, NAME="postgres", USER="conch")
    try:
        call_command("migrate", verbosity=0)
        yield database
    finally:
        connection.close()
        connection.settings_dict.update(before)
        database.kill()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep what became of each row."""
    page.keep(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Of a whole run, write the page."""
    page.write()
