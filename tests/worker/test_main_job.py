"""The main job on a real Triton: up, live, and back."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable

import pytest

from apps.audit import selectors as audit
from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.errors import AlreadyActive, InterfaceChanged, RolloutActive
from apps.fleet import connecting
from apps.fleet import selectors as fleet
from apps.fleet.repositories import posix as repositories
from apps.registry import services as registry
from tests.factories.triton_models import ask, config_text
from tests.fixtures.traffic import Traffic
from tests.fixtures.world import World

pytestmark = pytest.mark.live
MakeWorld = Callable[..., World]


def golden(model: str, echo: float = 1.0) -> None:
    """A golden sample that the test model answers rightly when `echo` is 1."""
    registry.add_sample(
        COMMAND,
        model=model,
        name="ones",
        inputs=[{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 1, 1, 1]}],
        outputs=[{"name": "echo", "datatype": "FP32", "shape": [1, 4], "data": [echo] * 4, "atol": 1e-6}],
    )


def is_server_ready(world: World, server: str) -> int:
    """The HTTP status of /v2/health/ready."""
    url = f"http://{world.tritons[server].http}/v2/health/ready"
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_the_first_version_goes_live_and_leaves_no_shadow(make_world: MakeWorld) -> None:
    world = make_world()
    golden(world.model)
    number = world.upload()

    rollout = world.promote(number, reason="first")

    assert rollout.state == "succeeded", world.told(rollout.pk)
    assert world.ready("prod-1") == {1}
    assert f"{world.model}.shadow" not in repositories.listing(world.repository)
    assert "versions: 1" in (repositories.read_config(world.repository, model=world.model) or "")
    active = selectors.get_placement("prod", world.model).active
    assert active is not None
    assert active.number == 1
    assert [event.verb for event in audit.events(subject=str(rollout.pk))] == ["rollout_succeeded", "promote"]


def test_promoting_and_rolling_back_under_traffic_fails_no_request_and_restarts_nothing(make_world: MakeWorld) -> None:
    world = make_world(servers=2)
    golden(world.model)
    world.promote(world.upload())
    backend = connecting.connect(fleet.get_server("prod-1"))
    before = ask(backend, world.model, 1)

    with Traffic(world.tritons["prod-1"].grpc, world.model) as traffic:
        up = world.promote(world.upload(initialize="time.sleep(1)"))
        hot = selectors.rollback_targets(selectors.get_placement("prod", world.model))
        loaded = world.ready("prod-1")
        back = world.roll_back()
    ways_on = selectors.rollback_targets(selectors.get_placement("prod", world.model))
    after = ask(backend, world.model, 1)

    assert up.state == "succeeded", world.told(up.pk)
    assert loaded == {1, 2}
    assert [(target.version.number, target.is_hot) for target in hot] == [(1, True)]
    assert back.state == "succeeded", world.told(back.pk)
    assert traffic.failures == []
    assert traffic.versions == {1, 2}
    assert (world.ready("prod-1"), world.ready("prod-2")) == ({1}, {1})
    assert after.started_at == before.started_at
    assert ways_on == []
    assert [run.recipe for run in back.runs.all() if run.direction == "forward"] == [["expose", "await_ready"]] * 2


WRONG = "x = x + 1"
BROKEN = 'raise ValueError("weights missing")'


@pytest.mark.parametrize(
    ("initialize", "execute", "code", "words"),
    [("", WRONG, "golden_mismatch", "golden"), (BROKEN, "", "load_refused", "weights missing")],
)
def test_a_bad_version_never_answers_a_client_and_leaves_a_strict_server_ready(
    make_world: MakeWorld, initialize: str, execute: str, code: str, words: str
) -> None:
    world = make_world(strict_readiness=True)
    golden(world.model)
    world.promote(world.upload())
    bad = world.upload(initialize=initialize, execute=execute)

    with Traffic(world.tritons["prod-1"].grpc, world.model) as traffic:
        rollout = world.promote(bad)

    assert rollout.state == "rolled_back", world.told(rollout.pk)
    assert rollout.error["code"] == "shadow_failed"
    assert rollout.error["facts"]["cause"] == code
    assert words in rollout.error["message"] + rollout.error.get("reason", "")
    assert "version 1 still serves" in rollout.error["message"]
    assert traffic.failures == []
    assert traffic.versions == {1}
    assert world.ready("prod-1") == {1}
    assert is_server_ready(world, "prod-1") == 200, world.told(rollout.pk)
    assert f"{world.model}.shadow" not in repositories.listing(world.repository)


def test_a_server_restarted_alone_comes_back_with_what_was_live(make_world: MakeWorld) -> None:
    world = make_world(is_fresh=True, load_models=None)
    world.promote(world.upload())
    world.promote(world.upload())
    triton = world.tritons["prod-1"]

    triton.kill()
    triton.start()

    assert world.ready("prod-1") == {1, 2}


def test_an_older_version_that_is_not_loaded_is_verified_before_anyone_is_sent_to_it(make_world: MakeWorld) -> None:
    world = make_world(policy={"standby_window_s": 0})
    golden(world.model)
    world.promote(world.upload())
    world.promote(world.upload())
    assert world.ready("prod-1") == {2}

    with Traffic(world.tritons["prod-1"].grpc, world.model) as traffic:
        back = world.roll_back(to=1)

    forward = next(run for run in back.runs.all() if run.direction == "forward")
    assert back.state == "succeeded", world.told(back.pk)
    assert [step.name for step in forward.steps.all()] == [
        "preflight",
        "publish",
        "load",
        "await_ready",
        "verify",
        "expose",
    ]
    assert traffic.failures == []
    assert world.ready("prod-1") == {1}


def test_when_the_second_server_fails_the_first_is_put_back(make_world: MakeWorld) -> None:
    world = make_world(servers=2, is_fresh=True, policy={"progress_deadline_s": 10})
    world.promote(world.upload())
    number = world.upload()
    rollout = services.promote(COMMAND, environment="prod", model=world.model, version=number)
    world.tritons["prod-2"].kill()

    ended = world.walk(rollout.pk)

    assert ended.state == "rolled_back", world.told(rollout.pk)
    assert ended.error["server"] == "prod-2"
    assert ended.error["code"] == "server_unreachable"
    assert world.ready("prod-1") == {1}


def test_a_second_rollout_is_told_who_is_moving_the_first(make_world: MakeWorld) -> None:
    world = make_world()
    first = services.promote(COMMAND, environment="prod", model=world.model, version=world.upload())

    with pytest.raises(RolloutActive) as refused:
        services.promote(COMMAND, environment="prod", model=world.model, version=world.upload())

    assert refused.value.facts == {"rollout": first.pk, "actor": COMMAND.name}
    world.walk(first.pk)


def test_rolling_back_while_a_promotion_moves_puts_back_what_was_live(make_world: MakeWorld) -> None:
    world = make_world(servers=2)
    world.promote(world.upload())
    moving = services.promote(COMMAND, environment="prod", model=world.model, version=world.upload())
    services.advance_rollout(moving.pk, now=moving.created_at)

    stopped = services.roll_back(COMMAND, environment="prod", model=world.model, reason="wrong weights")
    ended = world.walk(stopped.pk)

    assert stopped.pk == moving.pk
    assert ended.state == "rolled_back", world.told(ended.pk)
    assert "wrong weights" in ended.error["message"]
    assert world.ready("prod-1") == world.ready("prod-2") == {1}


def test_a_changed_interface_asks_first(make_world: MakeWorld) -> None:
    world = make_world()
    world.promote(world.upload())
    other = config_text(world.model).replace('name: "x" data_type: TYPE_FP32', 'name: "x" data_type: TYPE_FP64')
    number = world.upload(config=other)

    with pytest.raises(InterfaceChanged) as asked:
        services.promote(COMMAND, environment="prod", model=world.model, version=number)

    assert asked.value.facts["changes"] == ["input x was FP32 [4], becomes FP64 [4]"]


def test_promoting_what_is_live_is_refused(make_world: MakeWorld) -> None:
    world = make_world()
    number = world.upload()
    world.promote(number)

    with pytest.raises(AlreadyActive):
        services.promote(COMMAND, environment="prod", model=world.model, version=number)


def test_unloading_takes_the_model_off_and_out_of_the_next_start(make_world: MakeWorld) -> None:
    world = make_world()
    world.promote(world.upload())

    gone = world.walk(services.unload(COMMAND, environment="prod", model=world.model, reason="not needed").pk)

    assert gone.state == "succeeded", world.told(gone.pk)
    assert world.ready("prod-1") == set()
    assert repositories.read_config(world.repository, model=world.model) is None
    assert json.dumps(selectors.get_placement("prod", world.model).active_id) == "null"


def test_the_clock_lets_go_of_a_standby_when_its_window_is_over(make_world: MakeWorld) -> None:
    world = make_world(policy={"standby_window_s": 1})
    world.promote(world.upload())
    world.promote(world.upload())
    placement = selectors.get_placement("prod", world.model)

    retired = services.retire_standby(placement)
    assert retired is not None
    ended = world.walk(retired.pk)

    assert ended.state == "succeeded", world.told(ended.pk)
    assert world.ready("prod-1") == {2}
    assert selectors.get_placement("prod", world.model).standby is None
