"""Rollouts that are stopped, or disturbed, in the middle of a step."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import OperationalError
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.common.names import shadow_of
from apps.deployments import selectors, services
from apps.deployments.models import Placement, Run, StepRun
from apps.fleet import connecting
from apps.fleet import selectors as fleet
from apps.fleet.repositories import posix as repositories
from apps.serving.protocol import Readiness
from tests.factories.fleets import FleetRows
from tests.fixtures.world import World, step_once
from worker import engine
from worker.context import Context
from worker.outcomes import Outcome
from worker.steps import STEPS, Step


@pytest.fixture
def rows(transactional_db: None) -> FleetRows:
    made = FleetRows()
    made.environment("prod")
    made.server("prod-1", "prod")
    made.model("digits")
    for number in (1, 2):
        made.version("digits", number)
    made.placed("digits", "prod", 1)
    return made


@contextmanager
def step_replaced(name: str, step: Step) -> Iterator[None]:
    whole = STEPS[name]
    STEPS[name] = step
    try:
        yield
    finally:
        STEPS[name] = whole


def begun() -> Run:
    """A promotion of version 2 whose one run is on its way."""
    rollout = services.promote(COMMAND, environment="prod", model="digits", version=2)
    services.advance_rollout(rollout.pk, now=timezone.now())
    return rollout.runs.get()


def test_a_database_that_is_away_for_a_moment_fails_no_run(rows: FleetRows) -> None:
    run = begun()

    def away(_context: Context) -> Outcome:
        raise OperationalError("database is locked")

    with step_replaced("preflight", away), pytest.raises(OperationalError):
        engine.advance_run(run.pk)

    run.refresh_from_db()
    assert run.state == "running"


def test_aborting_after_the_configuration_was_written_writes_the_old_one_again(rows: FleetRows) -> None:
    run = begun()
    Run.objects.filter(pk=run.pk).update(state="succeeded", has_changed_server=True)
    services.advance_rollout(run.rollout_id, now=timezone.now())
    settling = Run.objects.get(direction="settle")

    services.abort(COMMAND, rollout=run.rollout_id, reason="wrong build")
    services.advance_rollout(run.rollout_id, now=timezone.now())
    engine.advance_run(settling.pk)
    services.advance_rollout(run.rollout_id, now=timezone.now())

    settling.refresh_from_db()
    assert settling.state == "cancelled"
    assert Run.objects.get(direction="revert").recipe == ["restore", "await_ready", "persist"]


def test_aborting_in_the_middle_of_the_shadow_ends_the_step_and_clears_up(rows: FleetRows) -> None:
    run = begun()
    StepRun.objects.create(run=run, name="shadow", position=2, state="waiting", started_at=timezone.now())

    services.abort(COMMAND, rollout=run.rollout_id, reason="wrong build")
    engine.advance_run(run.pk)
    services.advance_rollout(run.rollout_id, now=timezone.now())

    step = StepRun.objects.get(run=run)
    assert (step.state, step.error["code"]) == ("failed", "aborted")
    assert Run.objects.get(direction="revert").recipe == ["clear"]


def test_a_standby_is_not_let_go_of_on_what_was_live_before(rows: FleetRows) -> None:
    seen = selectors.get_placement("prod", "digits")
    Placement.objects.update(active=rows.versions["digits", 2], standby=rows.versions["digits", 1])

    begun_on_old_news = services.retire_standby(seen)

    assert begun_on_old_news is None
    assert selectors.active_rollout(seen) is None


@pytest.mark.live
def test_a_shadow_that_was_loading_is_gone_from_server_and_repository(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.promote(world.upload())
    number = world.upload(initialize="time.sleep(12)")
    moving = services.promote(COMMAND, environment="prod", model=world.model, version=number)
    while not StepRun.objects.filter(run__rollout=moving, name="shadow", state="waiting").exists():
        step_once()

    services.abort(COMMAND, rollout=moving.pk, reason="wrong build")
    ended = world.walk(moving.pk)

    index = connecting.connect(fleet.get_server("prod-1")).index()
    assert ended.state == "rolled_back", world.told(moving.pk)
    assert [e.version for e in index if e.model == shadow_of(world.model) and e.state != Readiness.UNAVAILABLE] == []
    assert shadow_of(world.model) not in repositories.listing(world.repository)
    assert world.ready("prod-1") == {1}


@pytest.mark.live
def test_a_server_that_lost_the_version_before_its_last_step_gets_it_again(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.promote(world.upload())
    verify = STEPS["verify"]

    def verified_then_lost(context: Context) -> Outcome:
        outcome = verify(context)
        context.backend.unload(world.model, timeout_s=5)
        while context.ready_versions(world.model):
            pass
        return outcome

    with step_replaced("verify", verified_then_lost):
        ended = world.promote(world.upload())

    assert ended.state == "succeeded", world.told(ended.pk)
    assert world.ready("prod-1") == {1, 2}
