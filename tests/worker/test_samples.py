"""Golden answers taken from a real Triton, and versions that can be neither warmed nor checked."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.audit import selectors as audit
from apps.common.actor import COMMAND
from apps.deployments import services
from apps.registry import selectors as registry
from apps.registry import services as registry_services
from tests.factories.triton_models import config_text
from tests.fixtures.world import World
from worker.captures import capture_golden

pytestmark = pytest.mark.live
MakeWorld = Callable[..., World]


def capture(world: World, name: str, **more: Any) -> Any:
    sample = services.capture_golden(COMMAND, environment="prod", model=world.model, name=name, **more)
    capture_golden(sample.pk)
    return registry.get_sample(world.model, name)


def test_golden_answers_are_taken_once_from_the_version_that_serves_and_judge_the_next(make_world: MakeWorld) -> None:
    world = make_world()
    world.promote(world.upload(execute="self.answered, self.started_at = 0, 0"))

    sample = capture(world, "taken", tolerances={"version": {"compare": "label"}})
    capture_golden(sample.pk)
    refused = world.promote(world.upload(execute="self.answered, self.started_at, x = 0, 0, x + 1"))

    assert sample.is_golden
    assert {one["name"] for one in sample.outputs} == {"echo", "version", "started_at", "answered"}
    assert (sample.capture["version"], sample.capture["server"], sample.capture_due_at) == (1, "prod-1", None)
    assert [event.verb for event in audit.events(subject=f"{world.model}/taken")] == ["capture_golden", "add_sample"]
    assert refused.state == "rolled_back"
    assert refused.error["facts"]["cause"] == "golden_mismatch"
    assert world.ready("prod-1") == {1}


def test_answers_that_vary_are_no_golden_ones(make_world: MakeWorld) -> None:
    world = make_world()
    world.promote(world.upload())

    sample = capture(world, "varies")

    assert not sample.is_golden
    assert (sample.capture["error"]["code"], sample.capture_due_at) == ("answers_vary", None)


def test_a_server_that_does_not_answer_is_asked_again_later(make_world: MakeWorld) -> None:
    world = make_world(is_fresh=True)
    world.promote(world.upload())
    world.tritons["prod-1"].kill()

    sample = capture(world, "later")

    assert sample.capture["error"]["code"] == "server_unreachable"
    assert registry.due_captures(timezone.now()) == []
    assert registry.due_captures(timezone.now() + timedelta(seconds=20)) == [sample.pk]


DECOUPLED = "model_transaction_policy { decoupled: true }"
ANSWER_NOTHING = """
sender = request.get_response_sender()
sender.send(flags=pb.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
continue
"""


def test_a_decoupled_model_goes_live_and_says_that_nothing_was_checked(make_world: MakeWorld) -> None:
    world = make_world()
    registry_services.add_sample(
        COMMAND,
        model=world.model,
        name="ones",
        inputs=[{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 1, 1, 1]}],
        outputs=[{"name": "echo", "datatype": "FP32", "shape": [1, 4], "data": [1, 1, 1, 1]}],
    )
    number = world.upload(config=config_text(world.model) + DECOUPLED, execute=ANSWER_NOTHING)

    rollout = world.promote(number)

    steps = {step.name: step.detail for run in rollout.runs.all() for step in run.steps.all()}
    assert rollout.state == "succeeded", world.told(rollout.pk)
    assert "decoupled" in steps["shadow"]["remark"]
    assert (steps["verify"]["golden"], "decoupled" in steps["verify"]["unchecked"]) == (0, True)
    assert any("decoupled" in remark for remark in registry.get_version(world.model, number).remarks)
