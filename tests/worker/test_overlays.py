"""Another configuration for the same version, on a real Triton under traffic."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.errors import OverlayUnchanged
from apps.fleet import connecting
from apps.fleet import selectors as fleet
from apps.fleet.repositories import posix as repositories
from tests.factories.triton_models import ask
from tests.fixtures.traffic import Traffic
from tests.fixtures.world import World
from worker import engine

pytestmark = pytest.mark.live
MakeWorld = Callable[..., World]
BATCHING: dict[str, Any] = {
    "dynamic_batching": {"max_queue_delay_microseconds": 500},
    "parameters": {"A": {"string_value": "b"}},
}
TWO: dict[str, Any] = {"instance_group": [{"kind": "KIND_CPU", "count": 2}]}


def set_overlay(world: World, document: dict[str, Any]) -> int:
    setting = services.set_overlay(
        COMMAND, environment="prod", model=world.model, document=document, reason="the queue was long"
    )
    assert setting.rollout is not None
    return setting.rollout.pk


def started_at(world: World) -> float:
    return ask(connecting.connect(fleet.get_server("prod-1")), world.model).started_at


def desired(world: World) -> tuple[int | None, ...]:
    """The numbers of the overlay in effect, the active version and the standby."""
    placement = selectors.get_placement("prod", world.model)
    return tuple(one.number if one else None for one in (placement.overlay, placement.active, placement.standby))


def running(world: World, server: str = "prod-1") -> dict[str, Any]:
    return dict(connecting.connect(fleet.get_server(server)).configuration(world.model, 1))


def test_instances_change_in_place_and_nothing_starts_again(make_world: MakeWorld) -> None:
    world = make_world()
    world.promote(world.upload())
    world.promote(world.upload(initialize="time.sleep(0.3)"))
    before = started_at(world)

    with Traffic(world.tritons["prod-1"].grpc, world.model) as traffic:
        rollout = world.walk(set_overlay(world, TWO))

    forward = next(run for run in rollout.runs.all() if run.direction == "forward")
    assert rollout.state == "succeeded", world.told(rollout.pk)
    assert [step.name for step in forward.steps.all()] == ["reconfigure", "await_ready"]
    assert forward.steps.first().detail == {"versions": [1, 2], "restarts": False}
    assert traffic.failures == []
    assert before in {started_at(world) for _ in range(20)}
    assert world.ready("prod-1") == {1, 2}
    assert desired(world) == (1, 2, 1)
    assert "count: 2" in (repositories.read_config(world.repository, model=world.model) or "")


def test_other_batching_is_tried_aside_then_comes_up_beside_and_goes_back_in_one_step(make_world: MakeWorld) -> None:
    world = make_world(servers=2)
    world.promote(world.upload())

    with Traffic(world.tritons["prod-1"].grpc, world.model) as traffic:
        there = world.walk(set_overlay(world, BATCHING))
        loaded = running(world)
        asked = services.restore_overlay(COMMAND, environment="prod", model=world.model, reason="no better")
        assert asked.rollout is not None
        back = world.walk(asked.rollout.pk)

    forward = next(run for run in there.runs.all() if run.direction == "forward")
    assert (there.state, back.state) == ("succeeded", "succeeded"), world.told(there.pk)
    assert [step.name for step in forward.steps.all()] == [
        "preflight",
        "shadow",
        "reconfigure",
        "await_ready",
        "verify",
    ]
    assert loaded["dynamic_batching"]["max_queue_delay_microseconds"] == 500
    assert loaded["parameters"]["A"] == {"string_value": "b"}
    assert traffic.failures == []
    assert "dynamic_batching" not in running(world)
    assert "dynamic_batching" not in running(world, "prod-2")
    assert asked.overlay.document == {}
    assert desired(world) == (2, 1, None)


def test_an_overlay_holds_for_the_next_version_too(make_world: MakeWorld) -> None:
    world = make_world()
    world.promote(world.upload())
    world.walk(set_overlay(world, TWO))

    rollout = world.promote(world.upload())

    assert rollout.state == "succeeded", world.told(rollout.pk)
    configured = connecting.connect(fleet.get_server("prod-1")).configuration(world.model, 2)
    assert configured["instance_group"][0]["count"] == 2
    assert world.ready("prod-1") == {1, 2}


BREAKS = """
import json
if "BREAK" in json.loads(args["model_config"])["parameters"]:
    raise ValueError("cannot run so")
"""


def test_a_configuration_the_model_cannot_run_under_fails_aside_and_the_old_one_serves_on(
    make_world: MakeWorld,
) -> None:
    world = make_world()
    world.promote(world.upload(initialize=BREAKS))
    before = started_at(world)

    with Traffic(world.tritons["prod-1"].grpc, world.model) as traffic:
        rollout = world.walk(set_overlay(world, {"parameters": {"BREAK": {"string_value": "yes"}}}))

    assert rollout.state == "rolled_back", world.told(rollout.pk)
    assert "cannot run so" in rollout.error["message"] + rollout.error.get("reason", "")
    assert traffic.failures == []
    assert started_at(world) == before
    assert selectors.get_placement("prod", world.model).overlay is None


def test_a_second_server_that_fails_puts_the_first_back_under_the_old_configuration(make_world: MakeWorld) -> None:
    world = make_world(servers=2, is_fresh=True, policy={"progress_deadline_s": 10})
    world.promote(world.upload())
    rollout_id = set_overlay(world, BATCHING)
    world.tritons["prod-2"].kill()

    rollout = world.walk(rollout_id)

    assert rollout.state == "rolled_back", world.told(rollout.pk)
    assert "dynamic_batching" not in running(world)
    assert world.ready("prod-1") == {1}
    assert selectors.get_placement("prod", world.model).overlay is None


def test_a_worker_that_dies_after_the_load_was_sent_changes_nothing_twice(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world()
    world.promote(world.upload())
    rollout_id = set_overlay(world, BATCHING)
    services.advance_rollout(rollout_id, now=timezone.now())
    run = selectors.get_rollout(rollout_id).runs.get()
    killed = []

    def die(*_: object, **__: object) -> None:
        killed.append(True)
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr("worker.steps._stamps.keep", die)
        with pytest.raises(SystemExit):
            engine.advance_run(run.pk)
    type(run).objects.filter(pk=run.pk).update(lease_until=None)
    once = started_at(world)

    rollout = world.walk(rollout_id)

    assert killed == [True]
    assert rollout.state == "succeeded", world.told(rollout_id)
    assert started_at(world) == once
    assert running(world)["parameters"]["A"] == {"string_value": "b"}


def test_setting_what_is_set_is_refused_and_nothing_is_kept(make_world: MakeWorld) -> None:
    world = make_world()
    world.promote(world.upload())
    world.walk(set_overlay(world, TWO))

    with pytest.raises(OverlayUnchanged):
        set_overlay(world, TWO)

    assert selectors.overlay_history(selectors.get_placement("prod", world.model)).count() == 1
