"""A request by hand, made to a real Triton."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from tests.fixtures.world import World
from worker import trials

pytestmark = pytest.mark.live
ONES = [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 1, 1, 1]}]


def test_it_tells_the_answer_and_what_the_server_spent(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.promote(world.upload())
    # Without inputs they are made from the configuration.
    trial = services.try_version(COMMAND, server="prod-1", model=world.model, version=1)

    trials.answer_trial(trial.pk)

    told = selectors.get_trial(trial.pk)
    assert told.inputs[0]["data"] == [0, 0, 0, 0]
    assert told.state == "answered"
    outputs = {output["name"]: (output["datatype"], output["data"]) for output in told.answer["outputs"]}
    assert outputs["echo"] == ("FP32", [0, 0, 0, 0])
    assert outputs["version"] == ("INT64", [1])
    assert told.answer["latency_us"] > 0
    assert told.answer["spent"]["requests"] == 1
    assert told.answer["spent"]["infer_us"] > 0


def test_what_the_model_refuses_is_told_in_its_own_words(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.promote(world.upload())
    wrong = [{**ONES[0], "name": "y"}]
    trial = services.try_version(COMMAND, server="prod-1", model=world.model, version=1, inputs=wrong)

    trials.answer_trial(trial.pk)
    trials.answer_trial(trial.pk)

    told = selectors.get_trial(trial.pk)
    assert told.state == "failed"
    assert "unexpected inference input 'y'" in told.error["message"]
    assert told.finished_at is not None
    assert told.finished_at <= timezone.now()
