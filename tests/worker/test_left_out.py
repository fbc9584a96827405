"""A server that was left out of a change of overlay gets it afterwards, and serves meanwhile."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.models import Rollout, StepRun
from apps.fleet import connecting
from apps.fleet import selectors as fleet
from tests.doubles.fleet import SimulatedFleet, SimulatedTriton
from tests.fixtures.world import World
from worker import clock
from worker.context import PATIENCE_S, Context
from worker.outcomes import Done
from worker.steps import load

BATCHING: dict[str, Any] = {"dynamic_batching": {"max_queue_delay_microseconds": 500}}


@pytest.fixture
def world(transactional_db: None, simulated_fleet: SimulatedFleet, tmp_path: Path) -> Iterator[World]:
    tritons = [SimulatedTriton(simulated_fleet, f"prod-{n}", repository=tmp_path / "models") for n in (1, 2)]
    simulated_fleet.add(*tritons)
    world = World.of("prod", "digits", tritons)  # type: ignore[arg-type]
    world.promote(world.upload())
    yield world
    for triton in tritons:
        triton.kill()


def look(world: World) -> None:
    ids = list(fleet.servers(environment=world.environment).values_list("pk", flat=True))
    clock.observe_servers(ids, timezone.now())


def batches(server: str) -> bool:
    return "dynamic_batching" in connecting.connect(fleet.get_server(server)).configuration("digits", 1)


def test_a_server_left_out_of_a_change_of_overlay_is_brought_to_it_by_itself(world: World) -> None:
    asked: dict[str, Any] = {"environment": "prod", "model": "digits", "document": BATCHING, "reason": "the queue"}
    setting = services.set_overlay(COMMAND, **asked, skip=["prod-2"])
    assert setting.rollout is not None
    world.walk(setting.rollout.pk)
    left_out = batches("prod-1"), batches("prod-2")

    look(world)
    told = list(selectors.kept_drift(server="prod-2").values_list("version", "kind"))
    heal = Rollout.objects.get(kind="heal")
    world.walk(heal.pk)
    look(world)

    assert left_out == (True, False)
    assert told == [(1, "wrong_config")]
    assert selectors.state_of(heal.pk) == "succeeded", world.told(heal.pk)
    assert batches("prod-2")
    assert list(selectors.kept_drift(server="prod-2")) == []


def test_a_load_whose_worker_was_lost_before_it_was_sent_is_sent_after_all(world: World) -> None:
    asked: dict[str, Any] = {"environment": "prod", "model": "digits", "document": BATCHING, "reason": "the queue"}
    setting = services.set_overlay(COMMAND, **asked, skip=["prod-2"])
    assert setting.rollout is not None
    world.walk(setting.rollout.pk)
    look(world)
    todo = selectors.work(Rollout.objects.get(kind="heal").runs.get().pk)
    began_at = timezone.now() - timedelta(seconds=PATIENCE_S + 1)
    step = StepRun.objects.create(
        run=todo.run,
        name="load",
        position=1,
        started_at=began_at,
        lost_workers=1,
        memory={"was_up": True, "sent": True},
    )

    outcome = load.run(Context(todo, connecting.connect(todo.server), step, timezone.now()))

    assert isinstance(outcome, Done)
    assert batches("prod-2")
