"""Versions that cannot be put under the shadow's load say so, and pass it over; on a simulated server."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.doubles.fleet import SimulatedFleet
from tests.factories.triton_models import config_text
from tests.fixtures.tritons import simulated_tritons
from tests.fixtures.world import World

DECOUPLED = "model_transaction_policy { decoupled: true }\n"
SEQUENCES = "sequence_batching { }\n"


@pytest.fixture
def make_simulated(
    transactional_db: None, simulated_fleet: SimulatedFleet, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., World]]:
    """A simulated fleet of one, whose policy puts every shadow under load."""
    with simulated_tritons(simulated_fleet, tmp_path_factory) as start:

        def make() -> World:
            shadow = {"when": "always", "load": {"requests": 20, "clients": 1, "ratio_limit": 5.0}}
            return World.of("prod", "asked", [start("prod-1")], shadow=shadow)

        yield make


def load_of(rollout: Any) -> str:
    """What its shadow says of the load."""
    (run,) = [one for one in rollout.runs.all() if one.direction == "forward"]
    return next(str(step.detail["load"]) for step in run.steps.all() if step.name == "shadow")


@pytest.mark.parametrize(
    ("kind", "why"), [(DECOUPLED, "any number of responses"), (SEQUENCES, "sequence ids and start flags")]
)
@pytest.mark.parametrize("is_new", [True, False], ids=["new", "old"])
def test_a_version_that_takes_no_plain_requests_passes_over_the_load_and_says_so(
    make_simulated: Callable[..., World], kind: str, why: str, *, is_new: bool
) -> None:
    world = make_simulated()
    plain, other = config_text(world.model), config_text(world.model) + kind
    first, second = (plain, other) if is_new else (other, plain)
    world.promote(world.upload(config=first), confirm=["warnings"])

    rollout = world.promote(world.upload(config=second), confirm=["warnings", "interface"])

    assert rollout.state == "succeeded", world.told(rollout.pk)
    assert why in load_of(rollout)


def test_a_version_with_another_interface_passes_over_the_load_and_says_what_changed(
    make_simulated: Callable[..., World],
) -> None:
    world = make_simulated()
    world.promote(world.upload())
    wider = config_text(world.model).replace("dims: [ 4 ]", "dims: [ 5 ]")

    rollout = world.promote(world.upload(config=wider), confirm=["interface"])

    assert rollout.state == "succeeded", world.told(rollout.pk)
    assert "input x was FP32 [4], becomes FP32 [5]" in load_of(rollout)
