"""A load is sent once: whoever sent it may have left before it ended, or may be told to do it again."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.deployments.models import StepRun
from apps.registry.models import Model
from tests.doubles.fleet import SimulatedFleet, SimulatedTriton
from tests.fixtures.world import World
from worker.context import FEW, Context
from worker.outcomes import Outcome
from worker.steps import STEPS

# With so many at once a client leaves after a quarter of a second.
MANY = FEW + 1
LONGER_S, FOR_EVER_S = 0.6, 3_600
MakeWorld = Callable[[int], World]


@pytest.fixture
def make_crowd(transactional_db: None, simulated_fleet: SimulatedFleet, tmp_path: Path) -> Iterator[MakeWorld]:
    """Servers that are changed at once and tried live at once, over one repository."""
    running: list[Any] = []

    def make(servers: int) -> World:
        root = tmp_path / "models"
        running.extend(SimulatedTriton(simulated_fleet, f"prod-{n}", repository=root) for n in range(servers))
        simulated_fleet.add(*running)
        return World.of("prod", "digits", running, parallel=servers, shadow={"when": "never"})

    yield make
    for triton in running:
        triton.kill()


def upload(world: World, *, then: str = "") -> int:
    """A version that writes down each start of its own."""
    diary = str(world.repository.parent / "diary")
    said = f"open({diary!r}, 'a').write(args['model_name'] + '/' + args['model_version'] + chr(10))"
    return world.upload(initialize=f"{said}\n{then}")


def starts(world: World) -> dict[str, int]:
    lines = (world.repository.parent / "diary").read_text().split()
    return {line: lines.count(line) for line in lines}


def load_slowly(world: World, seconds: float) -> None:
    for triton in world.tritons.values():
        triton.disturb(load_s=seconds)  # type: ignore[attr-defined]


def were_left(version: int) -> int:
    """On how many servers the client had left before the load of that version ended."""
    loads = StepRun.objects.filter(name="load", run__direction="forward", run__rollout__to_version__number=version)
    return sum("let_go_at_s" in step.memory for step in loads)


def served(world: World) -> set[frozenset[int]]:
    return {frozenset(world.ready(name)) for name in world.tritons}


def test_a_client_timeout_is_no_verdict_where_the_load_ends_well_later(make_crowd: MakeWorld) -> None:
    world = make_crowd(MANY)
    load_slowly(world, LONGER_S)

    ended = world.promote(upload(world))

    assert ended.state == "succeeded", world.told(ended.pk)
    assert were_left(1) == MANY
    assert starts(world) == {"digits/1": MANY}
    assert served(world) == {frozenset({1})}


def test_a_client_timeout_ends_with_the_servers_words_where_the_load_fails_later(make_crowd: MakeWorld) -> None:
    world = make_crowd(MANY)
    world.promote(upload(world))
    load_slowly(world, LONGER_S)

    ended = world.promote(upload(world, then="raise ValueError('weights missing')"))

    assert (ended.state, ended.error["code"]) == ("rolled_back", "load_refused"), world.told(ended.pk)
    assert "weights missing" in ended.error["reason"]
    assert were_left(2) == MANY
    assert starts(world)["digits/2"] == MANY
    assert served(world) == {frozenset({1})}


def test_a_client_timeout_ends_as_stuck_where_the_load_never_ends(make_crowd: MakeWorld) -> None:
    world = make_crowd(MANY)
    world.promote(upload(world))
    Model.objects.update(load_deadline_s=1)
    load_slowly(world, FOR_EVER_S)

    ended = world.promote(upload(world))

    assert (ended.state, ended.error["code"]) == ("rolled_back", "load_stuck"), world.told(ended.pk)
    assert were_left(2) == MANY
    assert starts(world) == {"digits/1": MANY}
    assert served(world) == {frozenset({1})}


def test_a_retry_means_no_reload_even_with_another_file_beside_the_versions(
    make_crowd: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, whole = make_crowd(1), STEPS["load"]
    world.promote(upload(world))
    once: dict[str, int] = {}

    def twice(context: Context) -> Outcome:
        whole(context)
        once.update(starts(world))
        (world.repository / "digits" / "README.md").write_text("A load that is sent again starts all versions again.")
        return whole(context)

    monkeypatch.setitem(STEPS, "load", twice)
    ended = world.promote(upload(world))

    published = {path.name for path in (world.repository / "digits" / "2").iterdir()} - {"__pycache__"}
    assert ended.state == "succeeded", world.told(ended.pk)
    assert once["digits/2"] == 1
    assert starts(world) == once
    assert served(world) == {frozenset({1, 2})}
    assert published == {"model.py", "weights.bin"}
