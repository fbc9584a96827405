"""kill -9 of the worker in each step: the rollout still ends right, once."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from apps.audit import selectors as audit
from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.fleet import repositories
from tests.fixtures.traffic import Traffic
from tests.fixtures.world import World
from worker import engine

pytestmark = pytest.mark.live
SCRIPT = Path(__file__).with_name("lost_worker.py")
STEPS = ["preflight", "publish", "shadow", "load", "await_ready", "verify", "expose"]


def lose_worker(run_id: int, step: str, moment: str) -> int:
    """Run a worker that dies in `step`; how it ended."""
    url = connection.settings_dict
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "CONCH_DATABASE_URL": f"postgresql://{url['USER']}@{url['HOST']}:{url['PORT']}/{url['NAME']}"
        if connection.vendor == "postgresql"
        else f"sqlite:///{url['NAME']}",
        "PYTHONPATH": str(SCRIPT.parents[2]),
    }
    ended = subprocess.run(
        [sys.executable, SCRIPT, str(run_id), step, moment], env=environment, timeout=60, check=False
    )
    return ended.returncode


def wait_for_lease(run_id: int) -> None:
    """Until nobody holds the run: the dead worker's lease has run out."""
    deadline = time.monotonic() + 30
    while run_id not in selectors.due_runs(timezone.now()):
        assert time.monotonic() < deadline
        time.sleep(0.1)


# Before a step is where the step before it was recorded; it is tried where the world is about to change most.
CUTS = [*((step, moment) for step in STEPS for moment in ("during", "after")), ("shadow", "before"), ("load", "before")]


@pytest.mark.parametrize(("step", "moment"), CUTS)
def test_a_worker_killed_in_a_step_costs_time_and_nothing_else(
    world_with_one_live: tuple[World, Callable[[], int]], step: str, moment: str
) -> None:
    world, upload = world_with_one_live
    rollout = services.promote(COMMAND, environment="prod", model=world.model, version=upload())
    services.advance_rollout(rollout.pk, now=timezone.now())
    run = rollout.runs.get()

    with Traffic(world.tritons["prod-1"].grpc, world.model, clients=1, pause_s=0.02) as traffic:
        died = lose_worker(run.pk, step, moment)
        wait_for_lease(run.pk)
        ended = world.walk(rollout.pk)

    assert died == -9
    assert ended.state == "succeeded", world.told(rollout.pk)
    assert traffic.failures == []
    assert world.ready("prod-1") == {ended.from_version.number, ended.to_version.number}
    assert f"{world.model}.shadow" not in repositories.listing(world.repository)
    verbs = [event.verb for event in audit.events(subject=str(rollout.pk))]
    assert verbs == ["rollout_succeeded", "promote"]


@pytest.mark.parametrize("step", ["expose", "await_ready"])
def test_a_worker_killed_in_a_hot_rollback_still_brings_it_to_its_end(
    world_with_one_live: tuple[World, Callable[[], int]], step: str
) -> None:
    world, upload = world_with_one_live
    world.promote(upload())
    rollout = services.roll_back(COMMAND, environment="prod", model=world.model, reason="slow")

    died = lose_worker(rollout.runs.get().pk, step, "after")
    ended = world.walk(rollout.pk)

    assert died == -9
    assert ended.state == "succeeded", world.told(rollout.pk)
    assert world.ready("prod-1") == {1}


@pytest.mark.parametrize("step", ["restore", "persist"])
def test_a_worker_killed_while_putting_back_still_puts_back(
    world_with_one_live: tuple[World, Callable[[], int]], step: str
) -> None:
    world, upload = world_with_one_live
    rollout = services.promote(COMMAND, environment="prod", model=world.model, version=upload())
    services.advance_rollout(rollout.pk, now=timezone.now())
    rollout.runs.update(has_changed_server=True)
    services.abort(COMMAND, rollout=rollout.pk, reason="wrong build")
    engine.advance_run(rollout.runs.get().pk)
    services.advance_rollout(rollout.pk, now=timezone.now())
    revert = rollout.runs.get(direction="revert")

    died = lose_worker(revert.pk, step, "after")
    ended = world.walk(rollout.pk)

    assert died == -9
    assert ended.state == "rolled_back", world.told(rollout.pk)
    assert world.ready("prod-1") == {1}


def test_a_step_that_kills_its_worker_every_time_is_stopped(
    world_with_one_live: tuple[World, Callable[[], int]],
) -> None:
    world, upload = world_with_one_live
    rollout = services.promote(COMMAND, environment="prod", model=world.model, version=upload())
    services.advance_rollout(rollout.pk, now=timezone.now())
    run = rollout.runs.get()

    for _ in range(6):
        lose_worker(run.pk, "preflight", "before")
        wait_for_lease(run.pk)
    ended = world.walk(rollout.pk)

    assert ended.state == "rolled_back", world.told(rollout.pk)
    assert ended.error["code"] == "step_kept_dying"
