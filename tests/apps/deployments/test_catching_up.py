"""Servers that come back with what was rolled back: which follow, and how often they are asked."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.models import Ban, Rollout
from apps.deployments.services.history import keep_done
from apps.fleet.models import Observation, ObservedVersion, Server
from tests.apps.deployments.test_bans import packed_anew
from tests.apps.deployments.test_rolling_back import PROD, ended, live, promote_first_server
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


def back_again(rows: FleetRows, server: str) -> list[str]:
    """The servers that follow once this one was seen again, with what it had."""
    later = timezone.now() + timedelta(seconds=1)
    Observation.objects.filter(server__name=server).update(is_reachable=True, at=later, seen_at=later)
    begun = services.catch_up(now=later)
    return [run.server.name for rollout in begun for run in rollout.runs.select_related("server")]


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


def test_a_change_of_configuration_since_hides_nobody_who_was_left_behind(rows: FleetRows) -> None:
    live(rows)
    Observation.objects.filter(server__name="prod-2").update(is_reachable=False)
    ended(services.roll_back(COMMAND, **PROD, reason="clients are not ready", ban=False))
    since = rows.rollout("digits", "prod", 1, 1, kind="reconfigure")

    keep_done(since, standby=None, now=timezone.now())

    assert back_again(rows, "prod-2") == ["prod-2"]


def test_a_server_that_was_down_follows_a_rollback_that_bans_nothing(rows: FleetRows) -> None:
    live(rows)
    Observation.objects.filter(server__name="prod-2").update(is_reachable=False)
    rollout = ended(services.roll_back(COMMAND, **PROD, reason="clients are not ready", ban=False))

    assert rollout.plan["left_out"] == ["prod-2"]
    assert back_again(rows, "prod-2") == ["prod-2"]
    assert not Ban.objects.exists()


def test_a_server_that_failed_to_go_back_follows_and_one_that_went_back_is_left_alone(rows: FleetRows) -> None:
    live(rows)
    rollout = services.roll_back(COMMAND, **PROD, reason="clients are not ready", ban=False)
    rollout.runs.filter(server__name="prod-2").update(state="failed", error={"code": "server_unreachable"})
    ended(rollout)

    assert back_again(rows, "prod-1") == []
    assert back_again(rows, "prod-2") == ["prod-2"]


def turned_round_without(rows: FleetRows, server: str, **how: Any) -> Rollout:
    """A promotion of version 2 was turned round while the server that it had changed was down."""
    moving = promote_first_server(rows)
    Observation.objects.filter(server__name=server).update(is_reachable=False)
    services.roll_back(COMMAND, **PROD, reason="clients are not ready", **how)
    moving.runs.filter(direction="forward", state="running").update(state="cancelled")
    services.advance_rollout(moving.pk, now=timezone.now())
    unreachable = {"state": "failed", "error": {"code": "server_unreachable"}, "finished_at": timezone.now()}
    moving.runs.filter(direction="revert").update(**unreachable)
    services.advance_rollout(moving.pk, now=timezone.now())
    rows.observed(server, "digits", 2)
    return selectors.get_rollout(moving.pk)


def test_a_server_that_was_down_while_a_promotion_was_turned_round_follows(rows: FleetRows) -> None:
    turned = turned_round_without(rows, "prod-1", ban=False)

    assert turned.state == "failed"
    assert not Ban.objects.exists()
    assert back_again(rows, "prod-1") == ["prod-1"]


def test_what_was_turned_round_and_is_live_since_is_nothing_that_was_left_behind(rows: FleetRows) -> None:
    turned_round_without(rows, "prod-1", ban=False)
    back = {"is_reachable": True, "seen_at": timezone.now()}
    Observation.objects.filter(server__name="prod-1").update(**back)
    ended(services.promote(COMMAND, **PROD, version=2, confirm=["hold"], skip=["prod-1"]))

    assert back_again(rows, "prod-1") == []


def test_a_server_that_somebody_has_changed_since_is_left_alone(rows: FleetRows) -> None:
    turned_round_without(rows, "prod-1", ban=False)
    back = {"is_reachable": True, "seen_at": timezone.now()}
    Observation.objects.filter(server__name="prod-1").update(**back)
    ended(services.promote(COMMAND, **PROD, version=3, confirm=["hold"]))

    assert back_again(rows, "prod-1") == []


def test_what_went_live_again_since_is_nothing_that_was_left_behind(rows: FleetRows) -> None:
    live(rows)
    Observation.objects.filter(server__name="prod-2").update(is_reachable=False)
    ended(services.roll_back(COMMAND, **PROD, reason="clients are not ready", ban=False))
    ended(services.promote(COMMAND, **PROD, version=2, confirm=["hold"], skip=["prod-2"]))

    assert back_again(rows, "prod-2") == []
