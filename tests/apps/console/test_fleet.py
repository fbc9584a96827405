"""Servers, environments and repositories from the console."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.deployments.models import Rollout
from apps.fleet.models import Environment, Observation, Repository, Server
from tests.factories.fleets import FleetRows


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


def test_changing_a_server_says_what_cannot_be_changed_and_the_way_to_another_address(
    rows: FleetRows, boss: Client
) -> None:
    page = boss.get("/servers/prod-1/change/").content.decode()

    assert f"Its gRPC address, {rows.servers['prod-1'].grpc}, is the server itself and stays." in page
    assert "retire prod-1 and add the server under another name" in page


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


def test_the_room_of_a_repository_is_shown_with_the_age_of_its_reading(rows: FleetRows, viewer: Client) -> None:
    read_at = timezone.now() - timedelta(minutes=4)
    Repository.objects.filter(name="prod-models").update(free_bytes=3 << 30, free_at=read_at)
    Repository.objects.filter(name="staging-models").update(free_bytes=None, free_at=None)

    pages = [viewer.get(where).content.decode() for where in ("/environments/", "/servers/prod-1/")]

    assert all(re.search(r"3\.0 GiB free, read <time[^>]*>4 min ago</time>", page) for page in pages)
    assert "not known: read when its servers are observed" in pages[0]


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


def test_a_servers_row_offers_no_way_back_where_there_is_none(rows: FleetRows, viewer: Client) -> None:
    rows.placements["digits", "staging"].bans.create(version=rows.versions["digits", 1])

    banned = viewer.get("/servers/staging-1/").content.decode()
    rows.rollout("digits", "staging", 2, 1, state="running")
    moving = viewer.get("/servers/staging-1/").content.decode()

    assert "Roll back staging…" not in banned
    assert "Roll back staging…" in moving


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
