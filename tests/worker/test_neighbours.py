"""A load that slows down another model of the same server, on a real Triton without Prometheus."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.registry import services as registry
from tests.fixtures.traffic import Traffic
from tests.fixtures.world import World, step_once

pytestmark = pytest.mark.live


def test_a_load_that_hurts_a_neighbour_pauses_the_rollout_and_names_whom(
    make_world: Callable[..., World], tmp_path: Path
) -> None:
    world = make_world(policy={"guard": {"ratio": 3, "minimum_ms": 20, "minimum_requests": 5}})
    flag = tmp_path / "busy"
    neighbour = replace(world, model=f"{world.model}-neighbour")
    registry.register_model(COMMAND, name=neighbour.model)
    neighbour.promote(neighbour.upload(execute=f"time.sleep(0.1 if os.path.exists({str(flag)!r}) else 0)"))
    busy = f"open({str(flag)!r}, 'w').close(); time.sleep(4); os.remove({str(flag)!r})"
    hurting = world.upload(initialize=busy)

    with Traffic(world.tritons["prod-1"].grpc, neighbour.model, clients=4) as traffic:
        while traffic.answered < 200:
            time.sleep(0.05)
        rollout = services.promote(COMMAND, environment="prod", model=world.model, version=hurting)
        deadline = time.monotonic() + 60
        while selectors.state_of(rollout.pk) != "paused":
            assert time.monotonic() < deadline, world.told(rollout.pk)
            step_once()
    rollout.refresh_from_db()
    services.resume(COMMAND, rollout=rollout.pk, reason="it is night")
    ended = world.walk(rollout.pk)

    assert f"{neighbour.model}/1 took" in rollout.pause_reason
    assert rollout.paused_by == "conch"
    assert traffic.failures == []
    assert ended.state == "succeeded", world.told(ended.pk)
