"""Releases over REST."""

import json
from typing import Any

import pytest
from django.test import Client

from apps.deployments.models import Rollout
from tests.apps.api import rows

pytestmark = pytest.mark.django_db


def send(client: Client, path: str, **body: Any) -> Any:
    return client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")


def begin(client: Client, **more: Any) -> Any:
    """A release of the second versions of two models."""
    rows.server("t1")
    for model in ("digits", "letters"):
        rows.placement(model, active=rows.version(1, of=model))
        rows.version(2, of=model)
    items = [{"model": model, "version": 2} for model in ("digits", "letters")]
    return send(client, "releases", **{"environment": "prod", "items": items, "reason": "together"} | more)


def test_a_release_is_accepted_and_can_be_followed(ci: Client) -> None:
    answer = begin(ci)

    told = ci.get(f"{answer['Location']}?wait=1").json()
    assert answer.status_code == 202
    assert (told["state"], told["has_ended"], told["decision"], told["actor"]) == ("moving", False, "", "ci")
    assert [(one["model"], one["to_version"]) for one in told["rollouts"]] == [("digits", 2), ("letters", 2)]
    assert {one["release"] for one in told["rollouts"]} == {told["id"]}


def test_the_same_key_begins_one_release(ci: Client) -> None:
    rows.server("t1")
    rows.placement(active=rows.version(1))
    rows.version(2)
    body = json.dumps({"environment": "prod", "items": [{"model": "digits", "version": 2}]})

    told = [
        ci.post("/api/v1/releases", body, content_type="application/json", headers={"Idempotency-Key": "r-1"}).json()
        for _ in range(2)
    ]

    assert told[0]["id"] == told[1]["id"]
    assert Rollout.objects.count() == 1


@pytest.mark.parametrize("items", [[], [{"model": "digits"}], [{"model": "digits", "version": 2}] * 2])
def test_a_release_that_is_not_valid_is_refused(ci: Client, items: list[Any]) -> None:
    assert begin(ci, items=items).status_code == 400
    assert not Rollout.objects.exists()


@pytest.mark.parametrize("verb", ["abort", "roll-back"])
def test_a_release_is_stopped_as_a_whole_and_once(ci: Client, verb: str) -> None:
    url = begin(ci).json()["url"]

    first = ci.post(f"{url}/{verb}", {"reason": "wrong"}, content_type="application/json")
    second = ci.post(f"{url}/{verb}", {"reason": "again"}, content_type="application/json")

    assert (first.status_code, first.json()["state"], first.json()["turned_because"]) == (202, "reverting", "wrong")
    assert {one["state"] for one in first.json()["rollouts"]} == {"reverting"}
    assert (second.status_code, second.json()["code"]) == (409, "release_decided")


def test_a_viewer_begins_no_release(script: Any) -> None:
    assert begin(script("read")).status_code == 403


def test_a_plan_of_a_release_has_each_item_and_begins_nothing(ci: Client) -> None:
    begin(ci)
    rows.version(3)
    items = [{"model": "digits", "version": 3}, {"model": "letters", "version": 2}]

    told = send(ci, "releases/plan", environment="prod", items=items).json()

    codes = {item["model"]: [one["code"] for one in item["obstacles"]] for item in told["items"]}
    assert (told["would_begin"], codes) == (False, {"digits": ["rollout_active"], "letters": ["rollout_active"]})
    assert {tuple(item["servers"][0]["steps"][:4]) for item in told["items"]} == {
        ("preflight", "publish", "shadow", "barrier")
    }
    assert Rollout.objects.count() == 2


def test_a_release_is_paused_and_resumed_as_a_whole(ci: Client) -> None:
    url = begin(ci).json()["url"]

    paused = ci.post(f"{url}/pause", {"reason": "look first"}, content_type="application/json")
    again = ci.post(f"{url}/pause", {"reason": "look first"}, content_type="application/json")
    resumed = ci.post(f"{url}/resume", {"reason": "all good"}, content_type="application/json")

    assert (paused.status_code, {one["state"] for one in paused.json()["rollouts"]}) == (202, {"paused"})
    assert (again.status_code, again.json()["code"]) == (409, "release_stands_elsewhere")
    assert {one["state"] for one in resumed.json()["rollouts"]} == {"running"}
