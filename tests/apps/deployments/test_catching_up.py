"""Servers that come back with what was rolled back: which follow, and how often they are asked."""

from datetime import timedelta

from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import services
from apps.deployments.models import Rollout
from apps.fleet.models import ObservedVersion, Server
from tests.apps.deployments.test_rolling_back import PROD, ended, live, packed_anew
from tests.factories.fleets import FleetRows


def left_behind(rows: FleetRows, number: int) -> Server:
    """Version 2 was rolled back; prod-2, which was away, is back and was just seen with `number` beside it."""
    live(rows)
    ended(services.roll_back(COMMAND, **PROD, reason="wrong labels"))
    Rollout.objects.update(finished_at=timezone.now() - timedelta(minutes=40))
    ObservedVersion.objects.filter(version=2).delete()
    rows.observed("prod-2", "digits", number)
    return rows.servers["prod-2"]


def followed(rollout: Rollout, *, ago: timedelta) -> None:
    """It has ended, some time ago, and did not help."""
    at = timezone.now() - ago
    rollout.runs.update(state="succeeded", finished_at=at)
    Rollout.objects.filter(pk=rollout.pk).update(state="succeeded", finished_at=at, created_at=at)


def test_a_server_with_the_banned_bytes_under_another_number_follows_too(rows: FleetRows) -> None:
    packed_anew(rows, 3, like=2)
    server = left_behind(rows, 3)

    (following,) = services.catch_up(now=timezone.now())

    assert [run.server for run in following.runs.all()] == [server]
    assert following.to_version == rows.versions["digits", 1]


def test_a_server_with_other_bytes_than_those_banned_is_left_alone(rows: FleetRows) -> None:
    left_behind(rows, 3)

    assert services.catch_up(now=timezone.now()) == []


def test_a_server_that_follows_in_vain_is_asked_later_and_later(rows: FleetRows) -> None:
    left_behind(rows, 2)
    (first,) = services.catch_up(now=timezone.now())
    followed(first, ago=timedelta(seconds=11))
    (second,) = services.catch_up(now=timezone.now())
    followed(second, ago=timedelta(seconds=11))

    too_early = services.catch_up(now=timezone.now())
    in_time = services.catch_up(now=timezone.now() + timedelta(seconds=10))

    assert too_early == []
    assert len(in_time) == 1
