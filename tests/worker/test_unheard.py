"""Loads under another configuration that many servers wait for: let go of early, and still told why they failed."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F

from apps.common.actor import COMMAND
from apps.deployments import services
from apps.deployments.models import Rollout, StepRun
from tests.doubles.fleet import SimulatedFleet, SimulatedTriton
from tests.fixtures.waiting import eventually
from tests.fixtures.world import World, step_once
from worker.context import FEW, PATIENCE_S

BATCHING: dict[str, Any] = {"dynamic_batching": {"max_queue_delay_microseconds": 500}}


@pytest.fixture
def triton(simulated_fleet: SimulatedFleet, tmp_path: Path) -> Iterator[SimulatedTriton]:
    triton = SimulatedTriton(simulated_fleet, "prod-1", repository=tmp_path / "models")
    simulated_fleet.add(triton)
    yield triton
    triton.kill()


@pytest.fixture
def world(transactional_db: None, triton: SimulatedTriton) -> World:
    """Version 1 is live, and nothing is tried aside."""
    policy: dict[str, Any] = {"parallel": FEW + 1, "shadow": {"when": "never"}}
    world = World.of("prod", "digits", [triton], **policy)  # type: ignore[list-item]
    world.promote(world.upload())
    return world


def in_a_crowd(document: dict[str, Any]) -> int:
    """A change of overlay that is on so many servers at once that no thread is held for any of them."""
    rollout = services.set_overlay(
        COMMAND, environment="prod", model="digits", document=document, reason="the queue"
    ).rollout
    assert rollout is not None
    Rollout.objects.filter(pk=rollout.pk).update(plan={**rollout.plan, "servers": ["prod-1"] * (FEW + 1)})
    return rollout.pk


def until_it_waits() -> None:
    """Let go of, and then for so long not applied that nobody believes in it any more."""
    waiting = StepRun.objects.filter(name="reconfigure", state="waiting")

    def has_waited() -> bool:
        step_once()
        return waiting.exists()

    assert eventually(has_waited, timeout_s=30)
    waiting.update(started_at=F("started_at") - timedelta(seconds=PATIENCE_S))


def test_why_a_configuration_was_refused_is_told_though_its_load_was_let_go_of(
    world: World, triton: SimulatedTriton
) -> None:
    triton.disturb(load_s=0.6, fail_load="no pinned memory is left")
    rollout = in_a_crowd(BATCHING)
    until_it_waits()

    ended = world.walk(rollout)

    error = ended.runs.get(direction="forward").error
    assert (ended.state, error["code"]) == ("rolled_back", "load_refused"), world.told(rollout)
    assert "no pinned memory is left" in error["reason"]
    assert world.ready("prod-1") == {1}
