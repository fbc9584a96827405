"""Messages: one for many servers that end together, and none again while the first may still be on its way."""

from datetime import datetime, timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.models import Release, Rollout, Run, StepRun
from apps.deployments.states import RunState
from tests.factories.fleets import FleetRows


@pytest.fixture
def now() -> datetime:
    return timezone.now()


def begun(rows: FleetRows, now: datetime, *, servers: int) -> Rollout:
    """A promotion that runs on all of its servers at once."""
    for number in range(3, servers + 1):
        rows.server(f"prod-{number}", "prod")
    services.update_environment(COMMAND, name="prod", parallel=servers)
    rollout = services.promote(COMMAND, environment="prod", model="digits", version=2)
    services.advance_rollout(rollout.pk, now=now)
    return rollout


def end_some(rollout: Rollout, number: int) -> int:
    """End so many runs; how many messages that sends."""
    with transaction.atomic():
        for run in rollout.runs.filter(state="running")[:number]:
            services.end_run(run, state=RunState.SUCCEEDED, now=timezone.now())
        return len(connection.run_on_commit)


def test_servers_that_end_in_a_burst_wake_their_rollout_once(rows: FleetRows, now: datetime) -> None:
    rollout = begun(rows, now, servers=10)

    first = end_some(rollout, 5)
    is_due = selectors.due_rollouts(timezone.now()) == [rollout.pk]
    services.advance_rollout(rollout.pk, now=timezone.now())
    later = end_some(rollout, 4)

    assert (first, is_due, later) == (1, True, 1)


def test_a_run_that_ends_after_its_rollout_has_come_due_wakes_it_all_the_same(rows: FleetRows, now: datetime) -> None:
    rollout = begun(rows, now, servers=2)
    Rollout.objects.filter(pk=rollout.pk).update(due_at=now - timedelta(seconds=3))

    assert end_some(rollout, 1) == 1


def test_a_rollout_that_was_put_off_by_a_clock_ahead_is_woken(rows: FleetRows, now: datetime) -> None:
    rollout = begun(rows, now, servers=2)
    Rollout.objects.filter(pk=rollout.pk).update(due_at=now + timedelta(hours=1))

    assert end_some(rollout, 1) == 1


def test_a_run_whose_message_may_still_come_is_not_woken_again(rows: FleetRows, now: datetime) -> None:
    rollout = begun(rows, now, servers=2)
    runs = list(rollout.runs.order_by("pk").values_list("pk", flat=True))

    sweeps = [services.runs_to_wake(now + timedelta(seconds=seconds)) for seconds in (1, 3, 4, 6)]

    assert sweeps == [[], runs, [], runs]


def test_the_more_runs_wait_the_longer_a_message_may_take(rows: FleetRows, now: datetime) -> None:
    begun(rows, now, servers=100)

    sweeps = [len(services.runs_to_wake(now + timedelta(seconds=seconds))) for seconds in (9, 11)]

    assert sweeps == [0, 100]


def test_a_message_that_was_sent_by_a_clock_ahead_is_not_waited_for(rows: FleetRows, now: datetime) -> None:
    rollout = begun(rows, now, servers=2)
    Run.objects.filter(rollout=rollout).update(woken_at=now + timedelta(hours=1))

    assert len(services.runs_to_wake(now)) == 2


def test_a_run_that_was_given_back_is_due_and_woken_at_its_time(rows: FleetRows, now: datetime) -> None:
    rollout = begun(rows, now, servers=1)
    run, later = rollout.runs.filter(state="running").earliest("pk"), now + timedelta(seconds=10)
    Run.objects.filter(rollout=rollout).exclude(pk=run.pk).delete()
    assert services.claim_run(run.pk, owner="me", now=now, lease_s=30)
    services.release_run(run, owner="me", due_at=later, waiting_for="the server", after_s=10)

    sweeps = [services.runs_to_wake(later + timedelta(seconds=seconds)) for seconds in (-1, 1, 3)]

    assert sweeps == [[], [], [run.pk]]


def test_the_last_run_at_the_barrier_wakes_those_that_wait_there_once(rows: FleetRows, now: datetime) -> None:
    rollout = begun(rows, now, servers=10)
    release = Release.objects.create(environment=rows.environments["prod"], items={"digits": 2}, actor="ci")
    Rollout.objects.filter(pk=rollout.pk).update(release=release)
    runs = list(rollout.runs.select_related("rollout").order_by("pk"))
    for run in runs[:6]:
        StepRun.objects.create(run=run, name="barrier", position=3, state="waiting", started_at=now)
        Run.objects.filter(pk=run.pk).update(due_at=now + timedelta(seconds=20))
    runs[9].refresh_from_db()

    sent = []
    for _ in range(2):
        with transaction.atomic():
            services.wake_at_barrier(runs[9], now=now)
            sent.append(len(connection.run_on_commit))

    assert sent == [6, 0]
    assert not rollout.runs.filter(due_at__gt=now).exists()
