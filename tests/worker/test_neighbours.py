"""A load that slows down another model of the same server, on a real Triton without Prometheus."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from apps.audit import selectors as audit
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


def test_a_change_of_overlay_that_hurts_pauses_and_putting_it_back_only_tells(
    make_world: Callable[..., World], tmp_path: Path
) -> None:
    guard = {"ratio": 3, "minimum_ms": 20, "minimum_requests": 5}
    world = make_world(policy={"guard": guard, "shadow": {"when": "never"}})
    flag = tmp_path / "busy"
    neighbour = replace(world, model=f"{world.model}-neighbour")
    registry.register_model(COMMAND, name=neighbour.model)
    neighbour.promote(neighbour.upload(execute=f"time.sleep(0.1 if os.path.exists({str(flag)!r}) else 0)"))
    busy = f"open({str(flag)!r}, 'w').close(); time.sleep(2.5); os.remove({str(flag)!r})"
    world.promote(world.upload(initialize=busy))
    asked: dict[str, Any] = {"environment": "prod", "model": world.model, "reason": "tune it"}

    with Traffic(world.tritons["prod-1"].grpc, neighbour.model, clients=4) as traffic:
        while traffic.answered < 200:
            time.sleep(0.05)
        there = services.set_overlay(COMMAND, **asked, document={"parameters": {"A": {"string_value": "b"}}}).rollout
        assert there is not None
        while selectors.state_of(there.pk) != "paused":
            step_once()
        services.resume(COMMAND, rollout=there.pk, reason="it is night")
        world.walk(there.pk)
        asked_back = services.restore_overlay(COMMAND, **asked).rollout
        assert asked_back is not None
        back = world.walk(asked_back.pk)

    told = audit.events(verb="neighbours_hurt", subject=str(back.pk)).get()
    step = back.runs.get(direction="forward").steps.get(name="reconfigure")
    assert back.state == "succeeded", world.told(back.pk)
    assert f"{neighbour.model}/1 took" in told.reason
    assert f"{neighbour.model}/1 took" in step.detail["hurt"][0]
    assert traffic.failures == []
