"""Times that a clock an hour ahead wrote: nothing waits for them to come."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.common.due import furthest
from apps.deployments import selectors, services
from apps.deployments.models import Rollout, Run, WarmupSchedule
from apps.deployments.states import RunState
from tests.factories.fleets import FleetRows

PROD: dict[str, Any] = {"environment": "prod", "model": "digits"}
HOUR = timedelta(hours=1)


@pytest.fixture
def now() -> datetime:
    return timezone.now()


def moving(now: datetime) -> tuple[Rollout, Run]:
    """A promotion and its first run, which has begun."""
    rollout = services.promote(COMMAND, **PROD, version=2)
    services.advance_rollout(rollout.pk, now=now)
    return rollout, rollout.runs.get(state="running")


def test_a_rollout_and_a_run_put_off_too_far_are_due_at_once(rows: FleetRows, now: datetime) -> None:
    rollout, run = moving(now)
    Rollout.objects.filter(pk=rollout.pk).update(due_at=now + HOUR, judge_at=now + HOUR)
    Run.objects.filter(pk=run.pk).update(due_at=now + HOUR)

    assert selectors.due_rollouts(now) == [rollout.pk]
    assert selectors.due_judgements(now) == [rollout.pk]
    assert selectors.due_runs(now) == [run.pk]


def test_what_is_put_off_as_usual_is_not_due(rows: FleetRows, now: datetime) -> None:
    rollout, run = moving(now)
    Rollout.objects.filter(pk=rollout.pk).update(due_at=now + furthest(), judge_at=now + furthest())
    Run.objects.filter(pk=run.pk).update(due_at=now + furthest())

    assert selectors.due_rollouts(now) == selectors.due_judgements(now) == selectors.due_runs(now) == []


def test_a_lease_that_lasts_too_long_holds_nothing(rows: FleetRows, now: datetime) -> None:
    _, run = moving(now)
    lease_s = settings.CONCH["lease_s"]
    assert services.claim_run(run.pk, owner="ahead", now=now + HOUR, lease_s=lease_s)

    is_due = selectors.due_runs(now) == [run.pk]
    is_taken = services.claim_run(run.pk, owner="right", now=now, lease_s=lease_s)
    is_taken_twice = services.claim_run(run.pk, owner="third", now=now, lease_s=lease_s)

    assert (is_due, is_taken, is_taken_twice) == (True, True, False)


def test_a_step_begun_in_the_future_has_its_deadline_from_now(rows: FleetRows, now: datetime) -> None:
    _, run = moving(now)
    begun = services.begin_step(run, "preflight", known=None, now=now + HOUR)

    step = services.begin_step(run, "preflight", known=begun, now=now)

    assert step.started_at == now


def test_a_bake_is_looked_at_within_minutes_however_long_it_lasts(rows: FleetRows, now: datetime) -> None:
    services.change_policy(COMMAND, environment="prod", document={"waves": [1, "100%"], "bake_s": 86_400})
    rollout, run = moving(now)
    services.end_run(run, state=RunState.SUCCEEDED, now=now)

    services.advance_rollout(rollout.pk, now=now + HOUR)
    services.advance_rollout(rollout.pk, now=now)

    rollout.refresh_from_db()
    assert rollout.baking_since == now
    assert rollout.due_at - now <= furthest()


def test_a_warm_up_put_off_for_longer_than_its_interval_is_due(rows: FleetRows, now: datetime) -> None:
    services.schedule_warmup(COMMAND, **PROD, every_s=600)
    WarmupSchedule.objects.update(next_at=now + timedelta(seconds=590))
    in_time = services.claim_due_warmups(now)

    WarmupSchedule.objects.update(next_at=now + HOUR)
    too_far = services.claim_due_warmups(now)

    assert in_time == []
    assert [placement.model.name for placement in too_far] == ["digits"]


def test_a_clock_set_forth_between_two_calls_uses_up_no_deadline(rows: FleetRows, now: datetime) -> None:
    _, run = moving(now)
    begun = services.begin_step(run, "preflight", known=None, now=now)
    begun = services.begin_step(run, "preflight", known=begun, now=now + timedelta(seconds=5))

    step = services.begin_step(run, "preflight", known=begun, now=now + timedelta(seconds=5) + HOUR)

    assert (now + timedelta(seconds=5) + HOUR - step.started_at).total_seconds() == 65
