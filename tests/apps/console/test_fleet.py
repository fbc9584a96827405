"""Servers, environments and repositories from the console."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.deployments.models import Rollout
from apps.fleet.models import Environment, Observation, ObservedVersion, Repository, Server
from tests.factories.fleets import FleetRows, break_things, small_fleet


def server(**changes: Any) -> dict[str, Any]:
    """What the form for a new server sends."""
    return {"name": "prod-9", "environment": "prod", "repository": "prod-models", "grpc": "10.9.9.9:8001"} | changes


def test_a_new_server_is_being_asked(rows: FleetRows, boss: Client) -> None:
    answer = boss.post("/servers/add/", server(labels="gpu=a100 mig=1g.10gb"))

    made = Server.objects.get(name="prod-9")
    assert answer.headers["Location"] == "/servers/prod-9/"
    assert (made.state, made.labels) == ("checking", {"gpu": "a100", "mig": "1g.10gb"})
    assert "asking prod-9 who it is" in boss.get("/servers/prod-9/").content.decode()


def test_an_address_that_is_taken_names_who_has_it_and_keeps_what_was_typed(rows: FleetRows, boss: Client) -> None:
    taken = rows.servers["prod-1"].grpc

    answer = boss.post("/servers/add/", server(grpc=taken, metrics="http://m:1/metrics"))

    page = answer.content.decode()
    assert answer.status_code == 409
    assert "prod-1" in page
    assert "http://m:1/metrics" in page


def test_a_control_value_is_never_shown_again(rows: FleetRows, boss: Client) -> None:
    refused = boss.post("/servers/add/", server(grpc="nonsense", control_key="admin", control_value="s3cret-value"))
    boss.post("/servers/add/", server(control_key="admin", control_value="s3cret-value"))

    pages = [boss.get(where).content.decode() for where in ("/servers/prod-9/", "/servers/prod-9/change/")]

    assert all("s3cret-value" not in page for page in [*pages, refused.content.decode()])


def test_changing_a_server_keeps_its_control_value_when_none_is_given(rows: FleetRows, boss: Client) -> None:
    boss.post("/servers/add/", server(control_key="admin", control_value="s3cret-value"))
    before = Server.objects.get(name="prod-9").sealed_control_value

    boss.post("/servers/prod-9/change/", {"http": "10.9.9.9:8000", "control_key": "admin", "control_value": ""})

    after = Server.objects.get(name="prod-9")
    assert (after.http, after.sealed_control_value) == ("10.9.9.9:8000", before)


def test_a_refused_server_says_what_is_wrong_and_the_way_out(moving: Rollout, viewer: Client) -> None:
    page = viewer.get("/servers/prod-5/").content.decode()

    assert "does not take load requests" in page
    assert "--model-control-mode=explicit" in page


def test_a_server_that_does_not_answer_says_why(moving: Rollout, viewer: Client) -> None:
    page = viewer.get("/servers/prod-3/").content.decode()

    assert "! no answer" in page
    assert "failed to connect to all addresses" in page


def test_a_server_nobody_asked_for_half_a_minute_is_hatched(rows: FleetRows, viewer: Client) -> None:
    long_ago = rows.servers["prod-1"].observation.at.replace(year=2020)
    Observation.objects.filter(server=rows.servers["prod-1"]).update(seen_at=long_ago)

    page = viewer.get("/servers/").content.decode()

    assert "not seen lately" in page


def test_desired_stands_beside_observed_with_the_reason(moving: Rollout, viewer: Client) -> None:
    page = viewer.get("/servers/prod-2/").content.decode()

    assert "! drift" in page
    assert "FileNotFoundError" in page


def test_cordoning_asks_why_and_shows_it(rows: FleetRows, operator: Client) -> None:
    without = operator.post("/servers/prod-1/cordon/", {"reason": ""})
    operator.post("/servers/prod-1/cordon/", {"reason": "disk is being replaced"})

    assert without.status_code == 400
    assert "disk is being replaced" in operator.get("/servers/prod-1/").content.decode()


def test_a_cordoned_server_takes_rollouts_again_without_a_reason(moving: Rollout, operator: Client) -> None:
    operator.post("/servers/prod-4/uncordon/", {"reason": ""})

    assert Server.objects.get(name="prod-4").cordoned_at is None


def test_a_refused_server_is_asked_again(moving: Rollout, operator: Client) -> None:
    operator.post("/servers/prod-5/recheck/", {})

    assert Server.objects.get(name="prod-5").state == "checking"


def test_retiring_is_for_admins(rows: FleetRows, operator: Client, boss: Client) -> None:
    refused = operator.post("/servers/staging-1/retire/", {"reason": "old"})
    boss.post("/servers/staging-1/retire/", {"reason": "old"})

    assert refused.status_code == 403
    assert Server.objects.get(name="staging-1").state == "retired"


def test_an_environment_is_added_and_moved(boss: Client) -> None:
    boss.post("/environments/add/", {"name": "dev", "rank": "3"})
    boss.post("/environments/dev/change/", {"rank": "5"})

    assert Environment.objects.get(name="dev").rank == 5


def test_a_repository_in_another_is_refused_beside_its_field(rows: FleetRows, boss: Client) -> None:
    answer = boss.post(
        "/repositories/add/", {"name": "in", "environment": "prod", "kind": "posix", "path": "/srv/models/prod/in"}
    )

    assert answer.status_code == 409
    assert "/srv/models/prod/in" in answer.content.decode()
    assert not Repository.objects.filter(name="in").exists()


def test_a_repository_without_a_directory_is_added_and_shown_as_such(rows: FleetRows, boss: Client) -> None:
    given = {"name": "edge", "environment": "prod", "kind": "inline", "path": ""}
    boss.post("/repositories/add/", given)
    refused = boss.post("/repositories/add/", given | {"name": "other", "path": "/srv/models/other"})

    assert Repository.objects.get(name="edge").kind == "inline"
    assert (refused.status_code, "has no path" in refused.content.decode()) == (400, True)
    assert "none: load calls bring the files" in boss.get("/environments/").content.decode()


def test_a_bucket_is_added_with_its_own_endpoint_and_shown_with_it(rows: FleetRows, boss: Client) -> None:
    given = {"name": "eu", "environment": "prod", "kind": "s3", "path": "s3://models/eu"}
    boss.post("/repositories/add/", given | {"endpoint_url": "http://minio:9000", "region": "eu"})
    refused = boss.post("/repositories/add/", given | {"name": "other", "path": "s3://models/eu/inner"})

    assert Repository.objects.get(name="eu").settings == {"endpoint_url": "http://minio:9000", "region": "eu"}
    assert refused.status_code == 409
    assert "at http://minio:9000" in boss.get("/environments/").content.decode()


def test_the_matrix_says_the_same_in_words(moving: Rollout, viewer: Client) -> None:
    page = viewer.get("/").content.decode()

    assert "5 servers, 1 rollout moving, " in page
    assert 'aria-label="prod-1: changing from 1 to 2"' in page
    assert 'aria-label="staging-1: serving 2, 1 kept hot"' in page
    assert "prod-3: not seen lately, should serve 1" in page


def test_the_fleet_tells_what_changed_last_and_offers_the_way_back(rows: FleetRows, viewer: Client) -> None:
    page = viewer.get("/").content.decode()

    changes = page[page.index("What changed last") :]
    assert changes.count("<li>") == 3
    assert changes.count("Roll back…") == 1
    assert "/models/digits/in/staging/roll-back/" in changes


def test_the_way_back_stands_once_beside_the_change_that_made_what_is_live(rows: FleetRows, viewer: Client) -> None:
    rows.rollout("digits", "staging", 2, 1, kind="rollback")
    rows.rollout("digits", "staging", 1, 2)
    rows.rollout("digits", "staging", 2, 1, state="rolled_back")

    page = viewer.get("/").content.decode()

    assert page.count("/models/digits/in/staging/roll-back/") == 1


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("/rollouts/", 'href="/models/digits/in/staging/roll-back/" data-dialog>Roll back…'),
        ("/models/digits/versions/2/", 'href="/models/digits/in/staging/roll-back/" data-dialog>Roll back staging…'),
        ("/servers/staging-1/", 'href="/models/digits/in/staging/roll-back/" data-dialog>Roll back staging…'),
    ],
)
def test_the_way_back_is_two_clicks_from_any_page(where: str, words: str, rows: FleetRows, viewer: Client) -> None:
    page = viewer.get(where).content.decode()

    assert page.count(words) == 1


def test_what_moves_can_be_paused_from_the_fleet(moving: Rollout, viewer: Client) -> None:
    page = viewer.get("/").content.decode()

    assert f'href="/rollouts/{moving.pk}/pause/" data-dialog>Pause…' in page
    assert f'href="/rollouts/{moving.pk}/abort/" data-dialog>Abort…' in page
    assert f'href="/rollouts/{moving.pk}/abort/" data-dialog>Abort…' in viewer.get("/rollouts/").content.decode()


def test_what_was_put_back_already_offers_no_way_back(rows: FleetRows, viewer: Client) -> None:
    rows.placements["digits", "staging"].active = rows.versions["digits", 1]
    rows.placements["digits", "staging"].save()

    page = viewer.get("/").content.decode()

    assert "Roll back…" not in page


def test_many_servers_that_are_alike_are_counted_and_the_odd_ones_come_first(rows: FleetRows, viewer: Client) -> None:
    for number in range(20):
        rows.server(f"node-{number}", "staging")
    rows.model("wide")
    rows.version("wide", 1)
    rows.placed("wide", "staging", 1)
    rows.observed("node-7", "wide", 1, state="UNAVAILABLE")

    page = viewer.get("/").content.decode()

    row = page[page.index('href="/models/wide/"') :]
    assert row.index(">1!<") < row.index(">1 ×20<")
    assert "21 servers" in page
    assert "2 models not as desired" in page


def test_conchs_parts_that_say_the_same_share_a_line(rows: FleetRows, viewer: Client) -> None:
    page = viewer.get("/").content.decode()

    assert page.count("nothing has been heard of it yet") == 1


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
