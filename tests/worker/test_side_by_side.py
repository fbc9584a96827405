"""Many servers of one repository, changed at once: the try's directory is theirs together."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.fleet import connecting
from apps.fleet import selectors as fleet
from apps.fleet.repositories import posix as repositories
from tests.doubles.fleet import SimulatedFleet, SimulatedTriton
from tests.fixtures.world import World
from worker import engine

SERVERS = 12
# Of a promotion that meets nothing unusual, BEGIN and COMMIT counted too.
MOST_QUERIES = 65


@pytest.fixture
def world(transactional_db: None, simulated_fleet: SimulatedFleet, tmp_path: Path) -> Iterator[World]:
    root = tmp_path / "models"
    tritons = [SimulatedTriton(simulated_fleet, f"prod-{n}", repository=root) for n in range(SERVERS)]
    simulated_fleet.add(*tritons)
    yield World.of("prod", "digits", tritons, waves=["100%"], parallel=SERVERS)  # type: ignore[arg-type]
    for triton in tritons:
        triton.kill()


def advance(run_id: int) -> None:
    """As one thread of a worker."""
    try:
        engine.advance_run(run_id)
    finally:
        connection.close()


def test_servers_of_one_repository_are_tried_side_by_side(world: World) -> None:
    rollout = services.promote(COMMAND, environment="prod", model="digits", version=world.upload())

    with ThreadPoolExecutor(SERVERS) as threads:
        while not selectors.has_ended(selectors.state_of(rollout.pk)):
            services.advance_rollout(rollout.pk, now=timezone.now())
            list(threads.map(advance, selectors.due_runs(timezone.now())))

    assert selectors.get_rollout(rollout.pk).state == "succeeded", world.told(rollout.pk)
    assert {frozenset(world.ready(name)) for name in world.tritons} == {frozenset({1})}
    assert "digits.shadow" not in repositories.listing(world.repository)


def test_a_server_costs_as_few_queries_as_the_ones_before_it(world: World) -> None:
    rollout = services.promote(COMMAND, environment="prod", model="digits", version=world.upload())
    services.advance_rollout(rollout.pk, now=timezone.now())
    asked = []

    for run_id in selectors.due_runs(timezone.now()):
        with CaptureQueriesContext(connection) as queries:
            engine.advance_run(run_id)
        asked.append(len(queries))

    assert len(asked) == SERVERS
    assert max(asked) <= MOST_QUERIES, asked
    assert {run.state for run in selectors.get_rollout(rollout.pk).runs.all()} == {"succeeded"}


def test_a_load_that_takes_its_time_holds_no_thread_where_others_wait_for_one(world: World) -> None:
    for triton in world.tritons.values():
        triton.disturb(load_s=30)  # type: ignore[attr-defined]
    rollout = services.promote(COMMAND, environment="prod", model="digits", version=world.upload())
    services.advance_rollout(rollout.pk, now=timezone.now())

    for run_id in selectors.due_runs(timezone.now()):
        engine.advance_run(run_id)

    found = [connecting.connect(server).index() for server in fleet.servers(environment="prod")]
    states = [entry.state for index in found for entry in index if entry.model == "digits.shadow"]
    assert states == ["LOADING"] * SERVERS


def test_loads_that_were_let_go_of_are_found_done(world: World) -> None:
    for triton in world.tritons.values():
        triton.disturb(load_s=0.6)  # type: ignore[attr-defined]
    rollout = services.promote(COMMAND, environment="prod", model="digits", version=world.upload())

    world.walk(rollout.pk)

    assert selectors.get_rollout(rollout.pk).state == "succeeded", world.told(rollout.pk)
    assert {frozenset(world.ready(name)) for name in world.tritons} == {frozenset({1})}
