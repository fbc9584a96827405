"""Promoting, rolling back, unloading and watching over REST."""

import json
from threading import Event, Thread
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import connection
from django.test import Client

from apps.api.waiting import MOST_WAITERS, wait_until
from apps.deployments.models import Rollout
from apps.deployments.states import RolloutState
from tests.apps.api import rows

pytestmark = pytest.mark.django_db


def send(client: Client, method: str, path: str, **body: Any) -> Any:
    return client.generic(method, f"/api/v1/{path}", json.dumps(body), content_type="application/json")


def promote(client: Client, version: int = 1, **more: Any) -> Any:
    return send(client, "POST", "rollouts", environment="prod", model="digits", version=version, **more)


def test_a_promotion_is_accepted_and_can_be_followed(ci: Client) -> None:
    rows.server("t1")
    rows.server("t2")
    rows.version(1)

    answer = promote(ci, reason="nightly build")

    told = ci.get(answer["Location"]).json()
    assert answer.status_code == 202
    assert (told["state"], told["kind"], told["to_version"], told["from_version"]) == ("queued", "promote", 1, None)
    assert told["counts"] == {"forward": {"queued": 2}}
    assert [run["server"] for run in ci.get(told["runs_url"]).json()["results"]] == ["t1", "t2"]
    assert (told["reason"], told["actor"], told["has_ended"]) == ("nightly build", "ci", False)
    assert told["estimate"] == {
        "left_s": None,
        "ends_at": None,
        "why": "no server is done yet",
    }


@pytest.fixture
def failed(ci: Client) -> Rollout:
    """Twelve servers, on eleven of which it failed."""
    rollout = rows.rollout(rows.placement(), to=rows.version(1), state=RolloutState.FAILED, servers=12)
    bad = rollout.runs.order_by("pk").values_list("pk", flat=True)[1:]
    rollout.runs.filter(pk__in=list(bad)).update(state="failed", error={"code": "load_failed", "message": "no"})
    return rollout


def test_a_rollout_tells_how_many_servers_failed_and_why_the_first_did(failed: Rollout, ci: Client) -> None:
    told = ci.get(f"/api/v1/rollouts/{failed.pk}").json()

    names = [run.server.name for run in failed.runs.select_related("server").order_by("pk")]
    assert told["counts"] == {"forward": {"succeeded": 1, "failed": 11}}
    assert [run["server"] for run in told["failed"]] == names[1:11]
    assert told["failed"][0]["error"]["code"] == "load_failed"
    assert "runs" not in told


def test_the_runs_of_a_rollout_come_in_pages_and_are_chosen_by_state(failed: Rollout, ci: Client) -> None:
    where = f"/api/v1/rollouts/{failed.pk}/runs"
    names = [run.server.name for run in failed.runs.select_related("server").order_by("pk")]

    first = ci.get(f"{where}?limit=7").json()
    second = ci.get(first["next"]).json()

    assert [run["server"] for page in (first, second) for run in page["results"]] == names
    assert (first["previous"], second["next"]) == (None, None)
    assert [run["server"] for run in ci.get(f"{where}?state=succeeded").json()["results"]] == names[:1]
    assert [run["server"] for run in ci.get(f"{where}?server={names[3]}").json()["results"]] == [names[3]]
    assert ci.get(f"{where}?direction=revert").json()["results"] == []


def test_the_runs_of_an_unknown_rollout_are_refused(ci: Client) -> None:
    answer = ci.get("/api/v1/rollouts/4711/runs")

    assert (answer.status_code, answer.json()["code"]) == (404, "rollout_unknown")


def test_a_second_promotion_is_told_which_one_is_moving(ci: Client) -> None:
    rows.server("t1")
    rows.version(1)
    first = promote(ci).json()

    second = promote(ci)

    assert (second.status_code, second.json()["code"]) == (409, "rollout_active")
    assert second.json()["facts"]["rollout"] == first["id"]


def test_a_changed_interface_asks_and_is_confirmed(ci: Client) -> None:
    rows.server("t1")
    rows.placement(active=rows.version(1))
    changed = rows.version(2)
    changed.signature = {"inputs": [{"name": "y", "datatype": "FP32", "shape": [4]}], "outputs": []}
    changed.save()

    asked = promote(ci, 2)
    confirmed = promote(ci, 2, confirm=["interface"])

    assert (asked.status_code, asked.json()["code"]) == (409, "interface_changed")
    assert asked.json()["facts"]["changes"]
    assert confirmed.status_code == 202


def test_rolling_back_needs_a_reason(ci: Client) -> None:
    answer = send(ci, "POST", "rollbacks", environment="prod", model="digits")

    assert answer.json()["errors"] == [{"field": "reason", "message": "This field is required."}]


def test_rolling_back_goes_to_what_was_live_before(ci: Client) -> None:
    one, two = rows.version(1), rows.version(2)
    placed = rows.placement(active=two)
    placed.standby = one
    placed.save()
    rows.rollout(placed, to=one)
    Rollout.objects.create(
        placement=placed,
        kind="promote",
        state="succeeded",
        from_version=one,
        to_version=two,
        actor="a",
        actor_kind="user",
    )
    Rollout.objects.get(to_version=one).runs.get().steps.update(name="shadow")

    answer = send(ci, "POST", "rollbacks", environment="prod", model="digits", reason="p99 doubled")

    told = answer.json()
    assert answer.status_code == 202
    assert (told["kind"], told["from_version"], told["to_version"]) == ("rollback", 2, 1)


def test_unloading_is_a_rollout_to_nothing(ci: Client) -> None:
    rows.server("t1")
    rows.placement(active=rows.version(1))

    told = send(ci, "POST", "unloads", environment="prod", model="digits", reason="retired").json()

    assert (told["kind"], told["from_version"], told["to_version"]) == ("unload", 1, None)


def test_a_rollout_is_aborted_with_a_reason(ci: Client) -> None:
    rows.server("t1")
    rows.version(1)
    url = promote(ci).json()["url"]

    answer = ci.post(f"{url}/abort", {"reason": "wrong version"}, content_type="application/json")

    assert (answer.status_code, answer.json()["state"]) == (202, "reverting")


def test_a_token_of_staging_does_not_touch_prod(ci: Client, script: Any) -> None:
    rows.server("t1")
    rows.version(1)

    answer = promote(script("deploy", environment="staging"))

    assert answer.status_code == 403
    assert not Rollout.objects.exists()


@pytest.mark.parametrize(
    ("query", "expected"),
    [("", 3), ("?state=succeeded", 2), ("?active=true", 1), ("?active=false", 2), ("?environment=none", 0)],
)
def test_rollouts_are_filtered(query: str, expected: int, ci: Client) -> None:
    placed = rows.placement(active=rows.version(1))
    other = rows.placement("letters")
    rows.rollout(placed, to=rows.version(2))
    rows.rollout(placed, to=rows.version(3))
    rows.rollout(other, to=rows.version(1, of="letters"), state=RolloutState.RUNNING)

    assert len(ci.get(f"/api/v1/rollouts{query}").json()["results"]) == expected


def test_a_placement_is_shown_with_its_way_back_and_its_schedule(ci: Client) -> None:
    rows.server("t1")
    rows.placement(active=rows.version(1))

    before = ci.get("/api/v1/placements/prod/digits").json()
    answer = send(ci, "PUT", "placements/prod/digits/warmup-schedule", every_s=600)

    assert (before["active"], before["standby"], before["warmup_schedule"]) == (1, None, None)
    assert before["rollback_targets"] == []
    assert answer.status_code == 200
    assert ci.get("/api/v1/placements/prod/digits").json()["warmup_schedule"]["every_s"] == 600


def test_warming_too_often_is_refused(ci: Client) -> None:
    rows.placement(active=rows.version(1))

    assert send(ci, "PUT", "placements/prod/digits/warmup-schedule", every_s=1).status_code == 400


def test_waiting_for_what_has_ended_answers_at_once(ci: Client) -> None:
    rollout = rows.rollout(rows.placement(), to=rows.version(1))

    assert ci.get(f"/api/v1/rollouts/{rollout.pk}?wait=60").json()["has_ended"] is True


def test_waiting_gives_the_state_when_the_time_is_over(ci: Client) -> None:
    rollout = rows.rollout(rows.placement(), to=rows.version(1), state=RolloutState.RUNNING)

    assert ci.get(f"/api/v1/rollouts/{rollout.pk}?wait=1").json()["state"] == "running"


@pytest.mark.django_db(transaction=True)
def test_waiting_answers_when_the_rollout_ends(ci: Client) -> None:
    rollout = rows.rollout(rows.placement(), to=rows.version(1), state=RolloutState.RUNNING)
    may_end = Event()

    def end() -> None:
        may_end.wait()
        Rollout.objects.filter(pk=rollout.pk).update(state=RolloutState.SUCCEEDED)
        connection.close()

    ender = Thread(target=end)
    ender.start()
    may_end.set()
    told = ci.get(f"/api/v1/rollouts/{rollout.pk}?wait=60").json()
    ender.join()

    assert (told["state"], told["has_ended"]) == ("succeeded", True)


def test_when_many_wait_the_next_is_answered_at_once() -> None:
    done, asked = Event(), Mock(return_value=False)
    waiters = [Thread(target=wait_until, args=(done.is_set,), kwargs={"wait_s": 60}) for _ in range(MOST_WAITERS)]
    for waiter in waiters:
        waiter.start()

    has_ended = wait_until(asked, wait_s=60)
    done.set()
    for waiter in waiters:
        waiter.join()

    assert has_ended is False
    assert asked.call_count == 1
