"""The main job on a real Triton without any shared storage: every load call brings its versions along."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.common.names import shadow_of
from apps.deployments import reconciler, selectors, services
from apps.fleet import connecting
from apps.fleet import selectors as fleet
from apps.fleet.models import Observation
from apps.registry import services as registry
from tests.factories.triton_models import ask
from tests.fixtures.traffic import Traffic
from tests.fixtures.world import World

pytestmark = pytest.mark.live
MakeWorld = Callable[..., World]
BROKEN = 'raise ValueError("weights missing")'


def golden(model: str) -> None:
    registry.add_sample(
        COMMAND,
        model=model,
        name="ones",
        inputs=[{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 1, 1, 1]}],
        outputs=[{"name": "echo", "datatype": "FP32", "shape": [1, 4], "data": [1.0] * 4, "atol": 1e-6}],
    )


def shadows(world: World) -> list[str]:
    backend = connecting.connect(fleet.get_server("prod-1"))
    return [one.model for one in backend.statistics() if one.model == shadow_of(world.model)]


def look(world: World) -> None:
    """Observe, and have whatever is astray put right."""
    world.observe()
    ids = list(fleet.servers(environment="prod").values_list("pk", flat=True))
    reconciler.reconcile(ids, now=timezone.now())


def test_up_and_back_under_traffic_fails_no_request_and_restarts_nothing(make_world: MakeWorld) -> None:
    world = make_world(home={"kind": "inline"})
    golden(world.model)
    first = world.promote(world.upload())
    backend = connecting.connect(fleet.get_server("prod-1"))
    before = ask(backend, world.model, 1)

    with Traffic(world.tritons["prod-1"].grpc, world.model) as traffic:
        up = world.promote(world.upload(initialize="time.sleep(1)"))
        hot = selectors.rollback_targets(selectors.get_placement("prod", world.model))
        loaded = world.ready("prod-1")
        back = world.roll_back()

    assert first.state == up.state == back.state == "succeeded", world.told(up.pk)
    assert loaded == {1, 2}
    assert [(target.version.number, target.is_hot) for target in hot] == [(1, True)]
    assert traffic.failures == []
    assert traffic.versions == {1, 2}
    assert world.ready("prod-1") == {1}
    assert ask(backend, world.model, 1).started_at == before.started_at
    assert [run.recipe for run in back.runs.all() if run.direction == "forward"] == [["expose", "await_ready"]]
    assert shadows(world) == []
    assert list(world.repository.iterdir()) == []


def test_what_could_not_be_left_for_a_restart_is_said(make_world: MakeWorld) -> None:
    world = make_world(home={"kind": "inline"})

    rollout = world.promote(world.upload())

    settled = rollout.runs.get(direction="settle").steps.get(name="persist")
    assert "After a restart it has nothing" in settled.detail["remark"]
    finding = fleet.get_server("prod-1").finding
    assert ["no model repository" in words for words in finding["warnings"]] == [True]


def test_a_version_that_does_not_start_is_told_with_the_servers_words_and_the_old_one_serves(
    make_world: MakeWorld,
) -> None:
    world = make_world(home={"kind": "inline"})
    golden(world.model)
    world.promote(world.upload())

    with Traffic(world.tritons["prod-1"].grpc, world.model) as traffic:
        rollout = world.promote(world.upload(initialize=BROKEN))

    assert rollout.state == "rolled_back", world.told(rollout.pk)
    assert rollout.error["facts"]["cause"] == "load_refused"
    assert "weights missing" in rollout.error["message"] + rollout.error.get("reason", "")
    assert traffic.failures == []
    assert world.ready("prod-1") == {1}
    assert shadows(world) == []


def test_another_overlay_and_an_unload_need_no_repository_either(make_world: MakeWorld) -> None:
    world = make_world(home={"kind": "inline"})
    world.promote(world.upload())
    world.promote(world.upload())

    changed = services.set_overlay(
        COMMAND, environment="prod", model=world.model, document={"instance_group": [{"count": 2}]}, reason="more"
    )
    assert changed.rollout is not None
    reconfigured = world.walk(changed.rollout.pk)
    running = connecting.connect(fleet.get_server("prod-1")).configuration(world.model, 2)
    loaded = world.ready("prod-1")
    gone = world.walk(services.unload(COMMAND, environment="prod", model=world.model, reason="over").pk)

    assert reconfigured.state == "succeeded", world.told(reconfigured.pk)
    assert running["instance_group"][0]["count"] == 2
    assert loaded == {1, 2}
    assert gone.state == "succeeded", world.told(gone.pk)
    assert world.ready("prod-1") == set()


def test_a_server_that_restarts_has_nothing_and_is_brought_back(make_world: MakeWorld) -> None:
    world = make_world(home={"kind": "inline"}, is_fresh=True)
    world.promote(world.upload())
    world.promote(world.upload())
    look(world)
    triton = world.tritons["prod-1"]

    triton.kill()
    triton.start()
    empty = world.ready("prod-1")
    look(world)
    heal = selectors.active_rollout(selectors.get_placement("prod", world.model))
    assert heal is not None
    ended = world.walk(heal.pk)

    assert empty == set()
    assert (ended.kind, ended.state) == ("heal", "succeeded"), world.told(ended.pk)
    assert world.ready("prod-1") == {1, 2}


def test_letting_go_of_a_standby_is_no_restart(make_world: MakeWorld) -> None:
    world = make_world(home={"kind": "inline"}, is_fresh=True, policy={"standby_window_s": 0})
    world.promote(world.upload())
    look(world)

    world.promote(world.upload())
    look(world)
    look(world)

    assert world.ready("prod-1") == {2}
    assert [one.restarted_at for one in Observation.objects.all()] == [None]
