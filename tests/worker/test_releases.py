"""Releases on a real Triton: all models live together, or none."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.registry import services as registry
from tests.faults.ground import LOST_WORKER
from tests.fixtures.processes import environment
from tests.fixtures.traffic import Traffic
from tests.fixtures.world import World
from worker import engine

pytestmark = pytest.mark.live
# Aside it starts, under its own name it does not.
FAILS_LIVE = 'if not args["model_name"].endswith(".shadow"): raise ValueError("not here")'


@pytest.fixture
def pair(make_world: Callable[..., World]) -> tuple[World, World]:
    """Two models on one server, version 1 of each live."""
    first = make_world()
    second = replace(first, model=f"{first.model}b")
    registry.register_model(COMMAND, name=second.model)
    for world in (first, second):
        world.promote(world.upload())
    return first, second


def release(pair: tuple[World, World], *versions: int) -> Any:
    """These versions of both models in one release, as it begins."""
    items = [{"model": world.model, "version": number} for world, number in zip(pair, versions, strict=True)]
    return services.begin_release(COMMAND, environment="prod", items=items, reason="together")


def walked(world: World, begun: Any) -> Any:
    """The release once none of its rollouts moves."""
    for rollout in begun.rollouts.all():
        world.walk(rollout.pk)
    return selectors.get_release(begun.pk)


def told(world: World, begun: Any) -> str:
    return "\n".join(world.told(rollout.pk) for rollout in begun.rollouts.all())


def test_both_go_live_after_both_have_passed_and_go_back_together(pair: tuple[World, World]) -> None:
    first, second = pair
    begun = release(pair, first.upload(), second.upload(initialize="time.sleep(1)"))

    ended = walked(first, begun)
    switched = (first.ready("prod-1"), second.ready("prod-1"))
    back = services.roll_back_release(COMMAND, release=begun.pk, reason="wrong")
    walked(first, back)

    assert selectors.release_state(ended) == "succeeded", told(first, begun)
    assert switched == ({1, 2}, {1, 2})
    assert (first.ready("prod-1"), second.ready("prod-1")) == ({1}, {1})
    loads = [step.started_at for one in ended.rollouts.all() for step in _steps(one.pk, "load")]
    shadows = [step.finished_at for one in ended.rollouts.all() for step in _steps(one.pk, "shadow")]
    assert min(loads) > max(shadows)


@pytest.mark.parametrize("initialize", ['raise ValueError("weights missing")', FAILS_LIVE])
def test_one_that_fails_aside_or_live_leaves_both_as_they_were(pair: tuple[World, World], initialize: str) -> None:
    first, second = pair
    good, bad = first.upload(), second.upload(initialize=initialize)

    with Traffic(first.tritons["prod-1"].grpc, second.model, clients=1, pause_s=0.02) as traffic:
        ended = walked(first, release(pair, good, bad))

    assert selectors.release_state(ended) == "rolled_back", told(first, ended)
    assert ended.decision == "back"
    assert (first.ready("prod-1"), second.ready("prod-1")) == ({1}, {1})
    assert traffic.failures == []
    assert traffic.versions == {1}
    assert {selectors.get_placement("prod", world.model).active.number for world in pair} == {1}  # type: ignore[union-attr]


def test_a_worker_killed_at_the_barrier_costs_time_and_nothing_else(
    pair: tuple[World, World], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONCH_LEASE_S", "1")
    settings.CONCH = {**settings.CONCH, "lease_s": 1}
    first, second = pair
    begun = release(pair, first.upload(), second.upload())
    for rollout in begun.rollouts.all():
        services.advance_rollout(rollout.pk, now=timezone.now())
    run = begun.rollouts.all()[0].runs.get()

    words: list[str | Path] = [sys.executable, LOST_WORKER, str(run.pk), "barrier", "after"]
    died = subprocess.run(words, env=environment(), timeout=60, check=False)
    ended = walked(first, begun)

    assert died.returncode == -9
    assert selectors.release_state(ended) == "succeeded", told(first, begun)
    assert (first.ready("prod-1"), second.ready("prod-1")) == ({1, 2}, {1, 2})


def test_aborted_at_the_barrier_nothing_was_touched(pair: tuple[World, World]) -> None:
    first, second = pair
    begun = release(pair, first.upload(), second.upload())
    for rollout in begun.rollouts.all():
        services.advance_rollout(rollout.pk, now=timezone.now())
    engine.advance_run(begun.rollouts.all()[0].runs.get().pk)
    waiting = begun.rollouts.all()[0].runs.get().waiting_for

    services.abort_release(COMMAND, release=begun.pk, reason="not now")
    ended = walked(first, begun)

    assert selectors.release_state(ended) == "rolled_back", told(first, begun)
    assert (first.ready("prod-1"), second.ready("prod-1")) == ({1}, {1})
    assert waiting == "1 of 2 runs of the release have passed their shadows"
    assert not any(_steps(rollout.pk, "load") for rollout in ended.rollouts.all())


def _steps(rollout_id: int, name: str) -> list[Any]:
    rollout = selectors.get_rollout(rollout_id)
    return [step for run in rollout.runs.all() for step in run.steps.all() if step.name == name]
