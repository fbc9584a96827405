"""A small fleet on real Tritons."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from pytest_django import Settings

from demo.parts.triton import Triton
from tests.doubles.fleet import SimulatedFleet
from tests.doubles.triton.memory import IDLE_BYTES
from tests.fixtures.tritons import StartTriton, simulated_tritons
from tests.fixtures.world import World
from tests.worker.cards import EACH

_models = count(1)


@pytest.fixture(scope="module")
def triton_of(start_triton: StartTriton, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Triton]:
    """A Triton by name and options, the same one for a whole test file; all read one repository."""
    repository = tmp_path_factory.mktemp("shared") / "models"
    running: dict[tuple[object, ...], Triton] = {}

    def get(name: str, **options: object) -> Triton:
        key = (name, *sorted(options.items()))
        if key not in running:
            running[key] = start_triton(name, repository=repository, **options)
        return running[key]

    return get


@pytest.fixture
def make_world(
    transactional_db: None, triton_of: Callable[..., Triton], start_triton: StartTriton
) -> Callable[..., World]:
    """Makes a fleet of `servers` over one repository, with a model of its own.

    `is_fresh` starts Tritons and a repository for this test alone: for tests that end or restart one.
    """

    def make(
        servers: int = 1,
        *,
        is_fresh: bool = False,
        policy: dict[str, Any] | None = None,
        home: dict[str, str] | None = None,
        **options: object,
    ) -> World:
        names = [f"prod-{position}" for position in range(1, servers + 1)]
        if is_fresh:
            first = start_triton(names[0], **options)
            tritons = [first, *(start_triton(name, repository=first.repository, **options) for name in names[1:])]
        else:
            tritons = [triton_of(name, **options) for name in names]
        return World.of("prod", f"m{next(_models)}", tritons, home, **(policy or {}))

    return make


@pytest.fixture
def world_with_one_live(
    make_world: Callable[..., World], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> tuple[World, Callable[[], int]]:
    """A fleet of one with version 1 live, a short lease, and a way to add the next version."""
    monkeypatch.setenv("CONCH_LEASE_S", "1")
    settings.CONCH = {**settings.CONCH, "lease_s": 1}
    world = make_world()
    world.promote(world.upload())
    return world, lambda: world.upload(initialize="time.sleep(0.5)")


@pytest.fixture
def make_carded(
    transactional_db: None, simulated_fleet: SimulatedFleet, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., World]]:
    """A fleet of one with a card that has room for so many versions."""
    with simulated_tritons(simulated_fleet, tmp_path_factory) as start:

        def make(room: float, *, policy: dict[str, Any] | None = None, home: dict[str, str] | None = None) -> World:
            server = start("prod-1", gpu_bytes=IDLE_BYTES + int(room * EACH))
            return World.of("prod", "heavy", [server], home, **(policy or {}))

        yield make
