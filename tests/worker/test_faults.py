"""Parts that go down while a rollout moves, with a real worker: it ends once, in the right state."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.audit import selectors as audit
from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from demo.parts.ports import free_port
from demo.parts.process import Child
from demo.parts.valkey import Valkey
from tests.fixtures.processes import start_worker
from tests.fixtures.traffic import Traffic
from tests.fixtures.world import World

pytestmark = pytest.mark.live
SLOW = "time.sleep(2)"


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[Valkey]:
    broker = Valkey(tmp_path / "valkey", port=free_port(), is_durable=True)
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
def worker(transactional_db: None, tmp_path: Path, valkey: Valkey) -> Iterator[Child]:
    running = start_worker(tmp_path, broker_url=valkey.broker_url)
    yield running
    running.stop()


def wait_for(is_so: Callable[[], Any], *, timeout_s: float = 60, told: Callable[[], str] = str) -> None:
    """Return once `is_so`; fail after the deadline with what `told` says."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline, told()
        time.sleep(0.05)


def ended(rollout_id: int) -> Any:
    """The rollout once the worker has brought it to its end."""
    wait_for(lambda: selectors.has_ended(selectors.state_of(rollout_id)))
    return selectors.get_rollout(rollout_id)


def in_step(rollout_id: int, name: str) -> bool:
    """Whether some run of the rollout has begun that step."""
    rollout = selectors.get_rollout(rollout_id)
    return any(step.name == name for run in rollout.runs.all() for step in run.steps.all())


def test_valkey_restarted_during_a_rollout(make_world: Callable[..., World], valkey: Valkey, worker: Child) -> None:
    world = make_world()
    world.promote(world.upload())
    number = world.upload(initialize=SLOW)
    rollout = services.promote(COMMAND, environment="prod", model=world.model, version=number)
    wait_for(lambda: in_step(rollout.pk, "shadow"))

    with Traffic(world.tritons["prod-1"].grpc, world.model, pause_s=0.02) as traffic:
        valkey.kill()
        time.sleep(1)
        valkey.start()
        done = ended(rollout.pk)

    assert done.state == "succeeded", world.told(rollout.pk)
    assert traffic.failures == []
    assert world.ready("prod-1") == {1, 2}


def test_a_worker_killed_during_a_load_is_followed_by_another(
    make_world: Callable[..., World], valkey: Valkey, tmp_path: Path
) -> None:
    world = make_world()
    world.promote(world.upload())
    number = world.upload(initialize=SLOW)
    first = start_worker(tmp_path, broker_url=valkey.broker_url)
    rollout = services.promote(COMMAND, environment="prod", model=world.model, version=number)
    wait_for(lambda: in_step(rollout.pk, "load"))

    first.kill()
    second = start_worker(tmp_path, broker_url=valkey.broker_url)
    done = ended(rollout.pk)
    second.stop()

    assert done.state == "succeeded", world.told(rollout.pk)
    assert world.ready("prod-1") == {1, 2}
    assert [event.verb for event in audit.events(subject=str(rollout.pk))] == ["rollout_succeeded", "promote"]


def test_a_triton_killed_during_a_load_and_back_again(make_world: Callable[..., World], worker: Child) -> None:
    world = make_world(is_fresh=True, load_models=None)
    world.promote(world.upload())
    number = world.upload(initialize=SLOW)
    rollout = services.promote(COMMAND, environment="prod", model=world.model, version=number)
    wait_for(lambda: in_step(rollout.pk, "load"))

    world.tritons["prod-1"].kill()
    time.sleep(1)
    world.tritons["prod-1"].start()
    done = ended(rollout.pk)

    assert done.state == "succeeded", world.told(rollout.pk)
    assert world.ready("prod-1") == {1, 2}


def test_a_model_whose_process_dies_in_a_request_is_turned_away_although_it_never_unloads(
    make_world: Callable[..., World],
) -> None:
    world = make_world(is_fresh=True, policy={"progress_deadline_s": 10})
    world.promote(world.upload())
    deadly = world.upload(execute="import os; os._exit(1)")

    rollout = world.promote(deadly)

    assert (rollout.state, rollout.error["code"]) == ("rolled_back", "shadow_failed"), world.told(rollout.pk)
    assert world.ready("prod-1") == {1}
