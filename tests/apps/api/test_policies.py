"""Policies over REST."""

import json
from typing import Any

import pytest
from django.test import Client

from tests.apps.api import rows

pytestmark = pytest.mark.django_db


def send(client: Client, method: str, path: str, body: Any) -> Any:
    return client.generic(method, f"/api/v1/{path}", json.dumps(body), content_type="application/json")


def test_a_policy_is_read_changed_and_its_history_kept(root: Client) -> None:
    rows.environment()
    before = root.get("/api/v1/environments/prod/policy").json()

    changed = send(
        root,
        "PUT",
        "environments/prod/policy",
        {"policy": {**before["policy"], "waves": [1, "100%"]}, "based_on": 0, "reason": "one first"},
    )

    assert (before["number"], before["policy"]["waves"]) == (0, ["100%"])
    assert (changed.status_code, changed.json()["number"]) == (200, 1)
    history = root.get("/api/v1/environments/prod/policies").json()["results"]
    assert [(one["number"], one["reason"]) for one in history] == [(1, "one first")]


def test_a_policy_that_cannot_be_names_the_field(root: Client) -> None:
    rows.environment()

    refused = send(root, "PUT", "environments/prod/policy", {"policy": {"waves": [1, "120%"]}})

    assert (refused.status_code, refused.json()["code"]) == (400, "policy_invalid")
    assert "waves.1" in refused.json()["detail"]


def test_a_policy_read_before_another_change_is_refused(root: Client) -> None:
    rows.environment()
    send(root, "PUT", "environments/prod/policy", {"policy": {"parallel": 2}})

    refused = send(root, "PUT", "environments/prod/policy", {"policy": {"parallel": 3}, "based_on": 0})

    assert (refused.status_code, refused.json()["code"]) == (409, "policy_changed")


def test_a_policy_needs_an_admins_token(ci: Client) -> None:
    rows.environment()

    refused = send(ci, "PUT", "environments/prod/policy", {"policy": {"parallel": 2}})

    assert refused.status_code == 403
