"""Rolling back while something else moves, on a real Triton."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.audit import selectors as audit
from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.models import Ban, Probe, Run
from apps.fleet import connecting
from apps.fleet import selectors as fleet
from tests.factories.triton_models import ask
from tests.fixtures.traffic import Traffic
from tests.fixtures.world import World, step_once
from worker import engine

pytestmark = pytest.mark.live


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """Version 2 live on two servers, 1 hot below it."""
    made = make_world(servers=2)
    made.promote(made.upload(weights=b"one"))
    made.promote(made.upload(weights=b"two"))
    return made


def roll_back(world: World, **asked: Any) -> Any:
    return services.roll_back(COMMAND, environment="prod", model=world.model, reason="errors", **asked)


def test_a_rollback_while_a_standby_is_let_go_of_takes_over_and_ends_right(world: World) -> None:
    retirement = services.retire_standby(selectors.get_placement("prod", world.model))
    assert retirement is not None
    # One server has let go already: there the way back is cold.
    engine.advance_run(retirement.runs.order_by("position")[0].pk)

    with Traffic(world.tritons["prod-1"].grpc, world.model, clients=1, pause_s=0.01) as traffic:
        ended = world.walk(roll_back(world).pk)

    assert ended.state == "succeeded", world.told(ended.pk)
    assert selectors.get_rollout(retirement.pk).error["code"] == "superseded"
    assert (world.ready("prod-1"), world.ready("prod-2")) == ({1}, {1})
    assert traffic.failures == []
    assert ended.time_to_restore_s is not None


@pytest.mark.parametrize("is_paused", [False, True], ids=["running", "paused"])
def test_a_rollback_while_a_promotion_is_half_way_puts_back_and_bans(world: World, is_paused: bool) -> None:  # noqa: FBT001
    third = services.promote(COMMAND, environment="prod", model=world.model, version=world.upload(weights=b"three"))
    while not Run.objects.filter(rollout=third, state="succeeded").exists():
        step_once()
    services.pause(COMMAND, rollout=third.pk, reason="looking")
    resumed = () if is_paused else (services.resume(COMMAND, rollout=third.pk, reason="go on"),)

    ended = world.walk(roll_back(world).pk)

    assert len(resumed) == (not is_paused)
    assert (ended.pk, ended.state) == (third.pk, "rolled_back"), world.told(third.pk)
    assert (world.ready("prod-1"), world.ready("prod-2")) == ({2}, {1, 2}), world.told(third.pk)
    assert ended.time_to_restore_s is not None
    assert Ban.objects.get().version.number == third.to_version.number  # type: ignore[union-attr]


def test_a_hot_rollback_asks_the_version_first_and_keeps_the_answer_as_a_probe(world: World) -> None:
    ended = world.walk(roll_back(world).pk)

    probes = Probe.objects.filter(kind="hot")
    expose = ended.runs.filter(direction="forward")[0].steps.get(name="expose")
    assert ended.state == "succeeded", world.told(ended.pk)
    assert sorted((probe.server.name, probe.version, probe.has_passed) for probe in probes) == [
        ("prod-1", 1, True),
        ("prod-2", 1, True),
    ]
    assert expose.detail["latency_us"] > 0


def test_a_hot_version_whose_process_has_died_is_loaded_cold_before_clients_get_it(
    make_world: Callable[..., World], tmp_path: Path
) -> None:
    world = make_world()
    world.promote(world.upload(initialize=f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))"))
    world.promote(world.upload())
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)

    with Traffic(world.tritons["prod-1"].grpc, world.model, clients=1, pause_s=0.01) as traffic:
        ended = world.walk(roll_back(world).pk)

    rerouted = audit.events(verb="run_rerouted", subject=str(ended.pk)).get()
    assert ended.state == "succeeded", world.told(ended.pk)
    assert "does not answer" in rerouted.reason
    assert world.ready("prod-1") == {1}
    assert traffic.failures == []
    assert ask(connecting.connect(fleet.get_server("prod-1")), world.model).version == 1


def test_a_server_that_comes_back_with_what_was_rolled_back_follows_although_it_is_held(world: World) -> None:
    world.observe()
    down = selectors.rollback_reach(selectors.get_placement("prod", world.model))[0][1]
    down.observation.is_reachable = False
    down.observation.save()
    ended = world.walk(roll_back(world).pk)
    left_behind = world.ready(down.name)

    world.observe()
    (following,) = services.catch_up(now=timezone.now())
    followed = world.walk(following.pk)

    assert (ended.state, ended.plan["left_out"]) == ("succeeded", [down.name])
    assert left_behind == {1, 2}
    assert followed.state == "succeeded", world.told(followed.pk)
    assert world.ready(down.name) == {1}
    assert services.catch_up(now=timezone.now()) == []
