"""Who gets in, and how far."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.middleware.csrf import _get_new_csrf_string
from django.test import Client

from apps.access import services
from apps.common.actor import COMMAND

pytestmark = pytest.mark.django_db
Callers = Callable[..., Client]
MODEL = {"name": "digits"}


def with_cookie(client: Client) -> str:
    token = _get_new_csrf_string()
    client.cookies["csrftoken"] = token
    return token


def test_nobody_is_told_how_to_sign_in() -> None:
    answer = Client().get("/api/v1/models")

    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "not_signed_in"


@pytest.mark.parametrize("header", ["Bearer conch_guess", "Basic YTpi", "Bearer", "conch_guess"])
def test_a_strange_credential_is_refused(header: str) -> None:
    answer = Client(headers={"Authorization": header}).get("/api/v1/models")

    assert answer.status_code == 401
    assert answer.json()["code"] == "token_invalid"
    assert "invalid_token" in answer["WWW-Authenticate"]


def test_a_token_needs_no_csrf(ci: Client) -> None:
    answer = ci.post("/api/v1/models", MODEL, content_type="application/json")

    assert answer.status_code == 201


def test_a_session_may_read(person: Callers) -> None:
    assert person(role="viewer").get("/api/v1/models").status_code == 200


def test_a_session_cannot_change_without_the_csrf_header(person: Callers) -> None:
    client = person()
    token = with_cookie(client)

    answers = [
        client.post("/api/v1/models", MODEL, content_type="application/json"),
        client.post("/api/v1/models", {**MODEL, "csrfmiddlewaretoken": token}),
        client.post("/api/v1/models", MODEL, content_type="application/json", headers={"X-CSRFToken": "x" * 32}),
    ]

    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert {answer.json()["code"] for answer in answers} == {"csrf_failed"}


def test_a_session_changes_with_the_csrf_header(person: Callers) -> None:
    client = person()
    token = with_cookie(client)

    answer = client.post("/api/v1/models", MODEL, content_type="application/json", headers={"X-CSRFToken": token})

    assert answer.status_code == 201
    assert answer.json()["created_by"] == "alice"


def test_a_closed_account_is_out_at_once(person: Callers) -> None:
    client = person()
    User.objects.update(is_active=False)

    assert client.get("/api/v1/models").status_code == 401


def test_an_account_without_a_role_sees_nothing(db: None) -> None:
    user = services.add_user(COMMAND, username="new", password="correct horse battery")
    client = Client()
    client.force_login(user)

    answer = client.get("/api/v1/models")

    assert answer.status_code == 403
    assert answer.json()["code"] == "not_allowed"


def test_a_viewer_changes_nothing(script: Callers) -> None:
    answer = script("read").post("/api/v1/models", MODEL, content_type="application/json")

    assert answer.status_code == 403
    assert "operator" in answer.json()["hint"]


@pytest.mark.parametrize("path", ["tokens", "users"])
def test_only_admins_see_tokens_and_accounts(path: str, ci: Client, root: Client) -> None:
    assert ci.get(f"/api/v1/{path}").status_code == 403
    assert root.get(f"/api/v1/{path}").status_code == 200


def test_the_discovery_scope_opens_what_prometheus_reads_alone(script: Callers) -> None:
    prometheus = script("sd:read")

    assert prometheus.get("/api/v1/sd/prometheus").status_code == 200
    assert prometheus.get("/metrics").status_code == 200
    assert prometheus.get("/api/v1/servers").status_code == 403
    assert prometheus.get("/api/schema/").status_code == 403


def test_the_caller_is_told_who_they_are(script: Callers) -> None:
    told = script("deploy", environment="staging").get("/api/v1/me").json()

    assert (told["kind"], told["name"], told["environment"], told["scopes"]) == ("token", "ci", "staging", ["deploy"])
    assert told["verbs"] == ["discover", "see_in_service", "view"]


def test_changes_are_recorded_with_who_and_from_where(ci: Client) -> None:
    ci.post("/api/v1/models", MODEL, content_type="application/json")

    (event,) = ci.get("/api/v1/audit?verb=register_model").json()["results"]

    assert (event["actor"], event["actor_kind"], event["door"], event["address"]) == ("ci", "token", "api", "127.0.0.1")
