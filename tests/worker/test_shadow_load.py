"""The shadow under load, held against the version that serves, on a real Triton."""

from collections.abc import Callable
from typing import Any

import pytest

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.fleet import selectors as fleet
from apps.registry import services as registry
from tests.factories.triton_models import config_text
from tests.fixtures.traffic import Traffic
from tests.fixtures.world import World

pytestmark = pytest.mark.live


def with_load(**load: Any) -> None:
    """The environment's policy asks for a load on the shadow."""
    document = selectors.policy_of(fleet.get_environment("prod")).document()
    document["shadow"] = {"when": "always", "load": load}
    services.change_policy(COMMAND, environment="prod", document=document, reason="the test says so")


def shadow_of(rollout: Any) -> Any:
    """Its step of the first server."""
    return next(step for step in rollout.runs.all()[0].steps.all() if step.name == "shadow")


def test_a_version_too_slow_under_the_same_load_never_serves_a_request(make_world: Callable[..., World]) -> None:
    world = make_world()
    with_load(requests=20, clients=2, ratio_limit=3.0)
    world.promote(world.upload(execute="time.sleep(0.01)"))
    same, slow = world.upload(execute="time.sleep(0.011)"), world.upload(execute="time.sleep(0.2)")

    with Traffic(world.tritons["prod-1"].grpc, world.model, clients=1, pause_s=0.02) as traffic:
        refused = world.promote(slow)
        accepted = world.promote(same)

    assert refused.state == "rolled_back", world.told(refused.pk)
    assert refused.error["facts"]["cause"] == "shadow_too_slow"
    assert accepted.state == "succeeded", world.told(accepted.pk)
    assert shadow_of(accepted).detail["load_requests"] == 20
    assert shadow_of(accepted).detail["ratio"] < 3.0
    assert traffic.failures == []
    assert traffic.versions == {1, same}


def test_a_load_that_is_not_answered_is_no_pass(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.promote(world.upload())
    with_load(requests=20, clients=1, ratio_limit=3.0)
    dies_later = world.upload(execute="if self.answered > 8: raise RuntimeError('worn out')")

    rollout = world.promote(dies_later)

    assert rollout.state == "rolled_back", world.told(rollout.pk)
    assert rollout.error["facts"]["cause"] == "shadow_unmeasured"
    assert "worn out" in rollout.error["message"]


def test_samples_that_neither_side_takes_are_not_sent(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.upload(config=config_text(world.model).replace("dims: [ 4 ]", "dims: [ 3 ]"))
    registry.add_sample(
        COMMAND,
        model=world.model,
        name="narrow",
        inputs=[{"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 1, 1]}],
    )
    world.promote(world.upload())
    with_load(requests=10, clients=1, ratio_limit=100.0)

    rollout = world.promote(world.upload())

    assert rollout.state == "succeeded", world.told(rollout.pk)
    assert shadow_of(rollout).detail["load_requests"] == 10


def test_the_first_version_has_nothing_to_be_held_against(make_world: Callable[..., World]) -> None:
    world = make_world()
    with_load(requests=20, clients=1, ratio_limit=3.0)

    rollout = world.promote(world.upload())

    assert rollout.state == "succeeded", world.told(rollout.pk)
    assert "nothing serves yet" in shadow_of(rollout).detail["load"]
