"""Tokens, accounts and grants over REST."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

pytestmark = pytest.mark.django_db


def send(client: Client, method: str, path: str, **body: Any) -> Any:
    return client.generic(method, f"/api/v1/{path}", json.dumps(body), content_type="application/json")


def test_a_token_is_issued_works_and_ends_when_it_is_revoked(root: Client) -> None:
    issued = send(root, "POST", "tokens", name="build", scopes=["read"]).json()
    bearer = Client(headers={"Authorization": f"Bearer {issued['secret']}"})

    before = bearer.get("/api/v1/models").status_code
    revoked = root.delete(issued["url"]).json()

    assert (before, bearer.get("/api/v1/models").status_code) == (200, 401)
    assert revoked["revoked_at"] is not None


def test_a_tokens_secret_is_shown_once(root: Client) -> None:
    issued = send(root, "POST", "tokens", name="build", scopes=["read"]).json()

    assert "secret" not in root.get(issued["url"]).json()
    assert issued["secret"] not in root.get("/api/v1/tokens").text + root.get("/api/v1/audit").text


def test_a_token_expires_after_90_days_unless_told_otherwise(root: Client) -> None:
    usual = send(root, "POST", "tokens", name="build", scopes=["read"]).json()
    lasting = send(root, "POST", "tokens", name="scrape", scopes=["sd:read"], expires_in_days=None).json()

    assert usual["expires_at"] > usual["created_at"]
    assert lasting["expires_at"] is None


def test_a_strange_scope_is_refused(root: Client) -> None:
    answer = send(root, "POST", "tokens", name="build", scopes=["everything"])

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "scopes.0")


def test_an_account_gets_and_loses_a_role(root: Client) -> None:
    made = send(root, "POST", "users", username="alice", password="correct horse battery")

    granted = send(root, "PUT", "users/alice/grants/prod", role="operator").json()
    everywhere = send(root, "PUT", "users/alice/grants/*", role="viewer").json()
    taken = root.delete("/api/v1/users/alice/grants/prod").json()

    assert (made.status_code, made.json()["grants"]) == (201, [])
    assert granted["grants"] == [{"environment": "prod", "role": "operator"}]
    assert len(everywhere["grants"]) == 2
    assert taken["grants"] == [{"environment": "*", "role": "viewer"}]
    assert "password" not in made.json()


def test_a_weak_password_is_refused_with_advice(root: Client) -> None:
    answer = send(root, "POST", "users", username="alice", password="short")

    assert (answer.status_code, answer.json()["code"]) == (400, "password_refused")
    assert "12" in answer.json()["hint"]


def test_a_new_password_is_set_and_an_account_is_closed(root: Client) -> None:
    send(root, "POST", "users", username="alice", password="correct horse battery")

    weak = send(root, "PUT", "users/alice/password", password="short")
    is_set = send(root, "PUT", "users/alice/password", password="another horse battery")
    is_right = User.objects.get(username="alice").check_password("another horse battery")
    closed = root.delete("/api/v1/users/alice").json()

    assert (weak.status_code, is_set.status_code, is_right) == (400, 200, True)
    assert not closed["is_active"]


def test_the_only_admin_cannot_be_closed_and_keeps_the_role(root: Client) -> None:
    send(root, "POST", "users", username="alice", password="correct horse battery")
    send(root, "PUT", "users/alice/grants/*", role="admin")

    closed = root.delete("/api/v1/users/alice")
    taken = root.delete("/api/v1/users/alice/grants/*")
    lowered = send(root, "PUT", "users/alice/grants/*", role="viewer")

    refused = [(answer.status_code, answer.json()["code"]) for answer in (closed, taken, lowered)]
    assert refused == [(409, "last_admin")] * 3
