"""A server's page: what it serves beside what it should, why something failed there, and what is done about it."""

import re
from collections.abc import Callable
from datetime import timedelta

from django.test import Client
from django.utils import timezone

from apps.deployments.models import Rollout
from apps.fleet.models import Observation, ObservedVersion, Server
from tests.factories.fleet_extremes import break_things
from tests.factories.fleets import FleetRows, small_fleet


def test_a_server_with_many_rows_shows_the_troubled_ones_first_and_all_when_asked(
    rows: FleetRows, viewer: Client
) -> None:
    for number in range(100):
        rows.observed("prod-1", f"other-{number:03}", 1)
    rows.observed("prod-1", "digits", 1, state="UNAVAILABLE", reason="weights missing")

    first, whole = (viewer.get(f"/servers/prod-1/{query}").content.decode() for query in ("", "?rows=all"))

    assert "weights missing" in first
    assert "other-099" not in first
    assert '<a href="?rows=all">Show ' in first
    assert "other-099" in whole
    assert "?rows=all" not in whole.split("<table>")[1].split("</section>")[0]


def test_what_a_silent_server_held_is_marked_as_last_seen_and_its_reason_is_said_once(
    rows: FleetRows, viewer: Client
) -> None:
    silent = rows.server("prod-3", "prod", is_reachable=False)
    rows.observed(silent.name, "resnet50", 11)

    page = viewer.get("/servers/prod-3/").content.decode()

    assert "ready?" in page
    assert ">ready<" not in page
    assert "last answer" in page
    assert "Not in service:" not in page


def test_what_differs_is_shown_with_since_when_and_what_is_done_about_it(sign_in: Callable[..., Client]) -> None:
    break_things(small_fleet())
    Rollout.objects.filter(state="rolled_back").update(finished_at=timezone.now() - timedelta(minutes=7))
    viewer = sign_in("viewer")

    fleet_page, server_page = (viewer.get(where).content.decode() for where in ("/", "/servers/prod-2/"))

    for page in (fleet_page, server_page):
        assert "Not as desired" in page
        assert "only a restart of this server ends it" in page
        assert "it was tried 3 times of late; next try" in page
    assert "Not in service: resnet50 11 is UNAVAILABLE" in server_page


def test_reconciling_now_is_asked_for_with_what_it_does(sign_in: Callable[..., Client]) -> None:
    break_things(small_fleet())
    operator = sign_in("operator")

    asked = operator.get("/servers/prod-2/reconcile/").content.decode()
    answer = operator.post("/servers/prod-2/reconcile/")

    assert "3 differences were seen so far" in asked
    assert answer.status_code == 302
    assert "is being looked at and put right" in operator.get("/servers/prod-2/").content.decode()


def test_a_failed_load_is_told_in_plain_words_with_the_way_out_beside_the_servers_own(
    rows: FleetRows, viewer: Client
) -> None:
    said = "load failed for model 'resnet50': version 11 is at UNAVAILABLE state: CUDA out of memory <b>now</b>"
    rows.observed("prod-2", "resnet50", 11, state="UNAVAILABLE", reason=said)

    page = viewer.get("/servers/prod-2/").content.decode()
    told = viewer.get("/api/v1/servers/prod-2").json()["versions"]

    explanation = next(one["explanation"] for one in told if one["state"] == "UNAVAILABLE")
    assert explanation["cause"] == "gpu_out_of_memory"
    assert f"<b>{explanation['meaning']}</b><br>{explanation['hint']}" in page
    assert "&lt;b&gt;now&lt;/b&gt;" in page


def test_words_that_nobody_knows_are_shown_as_they_are(rows: FleetRows, viewer: Client) -> None:
    rows.observed("prod-2", "resnet50", 11, state="UNAVAILABLE", reason="unloaded")

    told = viewer.get("/api/v1/servers/prod-2").json()["versions"]

    assert [one["explanation"] for one in told] == [None] * len(told)
    assert '<td class="why">unloaded</td>' in viewer.get("/servers/prod-2/").content.decode()


def _strict(state: str, reason: str) -> None:
    """prod-1 as a strict server tells of itself around a load of version 2."""
    server = Server.objects.get(name="prod-1")
    Observation.objects.filter(server=server).update(is_ready=False)
    ObservedVersion.objects.create(
        server=server, model="digits", version=2, state=state, reason=reason, since=server.created_at
    )


def test_a_failed_live_load_that_keeps_a_strict_server_unready_is_told_with_its_cure(
    rows: FleetRows, viewer: Client
) -> None:
    _strict("UNAVAILABLE", "weights missing")

    page = viewer.get("/servers/prod-1/").content.decode()

    assert "prod-1 answers 400 at /v2/health/ready though it loads nothing: a load of digits 2 failed" in page
    assert "(digits 2) or a restart ends it: restart it when convenient" in page


def test_a_strict_server_that_is_loading_is_nobodys_alarm(rows: FleetRows, viewer: Client) -> None:
    _strict("LOADING", "")

    assert "/v2/health/ready" not in viewer.get("/servers/prod-1/").content.decode()


def test_readiness_is_not_told_of_a_server_that_is_ready_or_away(rows: FleetRows, viewer: Client) -> None:
    well = viewer.get("/servers/prod-1/").content.decode()
    Observation.objects.filter(server__name="prod-1").update(is_ready=False, is_reachable=False)

    away = viewer.get("/servers/prod-1/").content.decode()

    assert "/v2/health/ready" not in well + away


def test_servers_are_listed_by_their_numbers(rows: FleetRows, viewer: Client) -> None:
    for number in (10, 3, 21):
        rows.server(f"prod-{number}", "prod")

    page = viewer.get("/servers/?environment=prod").content.decode()

    found = [name for name in re.findall(r'href="/servers/([^/"]+)/"', page) if name.startswith("prod")]
    assert list(dict.fromkeys(found)) == ["prod-1", "prod-2", "prod-3", "prod-10", "prod-21"]
