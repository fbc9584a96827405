"""Versions that answer slowly: trying one out is looked up from, and comes to an end."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.errors import WarmupFailed
from apps.deployments.models import StepRun
from apps.fleet import connecting
from tests.factories.fleets import small_fleet
from tests.fixtures.world import World
from worker.context import Context
from worker.steps._bit_by_bit import one_by_one


@pytest.mark.live
def test_trying_a_slow_version_out_is_stopped_by_an_abort_before_all_was_asked(
    make_world: Callable[..., World],
) -> None:
    world = make_world()
    rollout = services.promote(
        COMMAND, environment="prod", model=world.model, version=world.upload(execute="time.sleep(1)")
    )
    aborting = threading.Thread(target=_abort_once_it_is_warmed, args=(rollout.pk,))
    aborting.start()

    ended = world.walk(rollout.pk)
    aborting.join()

    warmed = StepRun.objects.get(run__rollout=rollout, name="shadow").memory["warm"]
    assert (ended.state, ended.error["code"]) == ("rolled_back", "aborted"), world.told(rollout.pk)
    assert 0 < len(warmed["said"]) < warmed["of"]
    assert world.ready("prod-1") == set()


def _abort_once_it_is_warmed(rollout: int) -> None:
    begun = StepRun.objects.filter(run__rollout=rollout, name="shadow", memory__has_key="warm")
    deadline = time.monotonic() + 60
    while not begun.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    services.abort(COMMAND, rollout=rollout, reason="it takes too long")
    connection.close()


@pytest.mark.django_db
def test_nothing_more_is_asked_past_the_progress_deadline() -> None:
    run = small_fleet().rollout("digits", "prod", 1, 2, state="running").runs.get(state="running")
    an_hour_ago = timezone.now() - timedelta(hours=1)
    memory = {"warm": {"said": [7, 7], "of": 5, "began_s": 0}}
    step = StepRun.objects.create(run=run, name="verify", position=9, started_at=an_hour_ago, memory=memory)
    todo = selectors.work(run.pk)
    context = Context(todo, connecting.connect(todo.server), step, timezone.now())

    with pytest.raises(WarmupFailed, match="warming: 2 of 5 requests in 600 s"):
        one_by_one(context, "warm", range(5), lambda *_: pytest.fail("asked"), doing="warming")
