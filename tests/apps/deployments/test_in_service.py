"""Whether a load balancer may send a server requests, and why not."""

from datetime import timedelta

from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.models import Rollout
from apps.fleet.models import Observation, Server
from tests.apps.deployments.test_reconciler import lose
from tests.factories.fleets import FleetRows


def test_a_server_is_in_service_once_it_serves_all_it_should(rows: FleetRows) -> None:
    lose("prod-2")

    out = selectors.in_service(rows.servers["prod-2"], now=timezone.now())
    rows.observed("prod-2", "digits", 1)
    back = selectors.in_service(rows.servers["prod-2"], now=timezone.now())

    assert out.reasons == ("digits 1 is not loaded",)
    assert back.is_in_service


def test_a_server_stays_in_service_on_either_version_of_a_rollout(rows: FleetRows) -> None:
    services.promote(COMMAND, environment="prod", model="digits", version=2)
    lose("prod-2")
    rows.observed("prod-2", "digits", 2)

    assert selectors.in_service(rows.servers["prod-2"], now=timezone.now()).is_in_service


def test_a_version_above_the_one_that_is_meant_takes_a_server_out_for_clients_get_it(rows: FleetRows) -> None:
    rows.observed("prod-2", "digits", 3)

    (reason,) = selectors.in_service(rows.servers["prod-2"], now=timezone.now()).reasons

    assert reason == "digits 3 is loaded above 1, so clients get it instead"


def test_a_rollout_that_has_ended_since_the_last_look_takes_no_server_out(rows: FleetRows) -> None:
    rows.observed("prod-2", "digits", 2)
    rollout = rows.rollout("digits", "prod", 2, 1, kind="rollback")
    just_ended = selectors.in_service(rows.servers["prod-2"], now=timezone.now())
    Rollout.objects.filter(pk=rollout.pk).update(finished_at=timezone.now() - timedelta(minutes=1))

    assert just_ended.is_in_service
    assert not selectors.in_service(rows.servers["prod-2"], now=timezone.now()).is_in_service


def test_a_rollback_that_takes_over_from_a_promotion_takes_no_server_out(rows: FleetRows) -> None:
    rows.observed("prod-2", "digits", 3)
    rollback = rows.rollout("digits", "prod", 1, 2, kind="rollback", state="running")
    an_hour_ago = timezone.now() - timedelta(hours=1)
    rows.rollout("digits", "prod", 1, 3, state="failed", finished_at=an_hour_ago, superseded_by=rollback)

    assert selectors.in_service(rows.servers["prod-2"], now=timezone.now()).is_in_service


def test_a_conch_that_stands_still_takes_no_server_out(rows: FleetRows) -> None:
    later = timezone.now() + timedelta(hours=1)

    found = selectors.in_service(rows.servers["prod-1"], now=later)

    assert (found.is_in_service, found.is_stale) == (True, True)


def test_a_server_that_does_not_answer_is_out_of_service(rows: FleetRows) -> None:
    rows.server("prod-3", "prod", is_reachable=False)
    Observation.objects.filter(server__name="prod-3").update(reason="prod-3: reading its index: no answer in time")

    (reason,) = selectors.in_service(Server.objects.get(name="prod-3"), now=timezone.now()).reasons

    assert reason == "prod-3 does not answer: reading its index: no answer in time"
