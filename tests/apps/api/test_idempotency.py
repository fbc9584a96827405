"""A POST sent again starts nothing twice."""

import io
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from apps.access.models import IdempotencyKey
from apps.audit.models import Event
from apps.deployments.models import Rollout
from apps.registry.models import Version
from tests.apps.api import rows

pytestmark = pytest.mark.django_db
PROMOTION = {"environment": "prod", "model": "digits", "version": 1}


def promote(client: Client, key: str = "k1", **changes: Any) -> Any:
    return client.post(
        "/api/v1/rollouts",
        PROMOTION | changes,
        content_type="application/json",
        headers={"Idempotency-Key": key},
    )


def upload(client: Client, content: bytes, key: str = "k1") -> Any:
    file = io.BytesIO(content)
    file.name = "digits.zip"
    return client.post("/api/v1/models/digits/versions", {"file": file}, headers={"Idempotency-Key": key})


def test_the_same_request_gets_the_same_answer_and_starts_once(ci: Client) -> None:
    rows.server("t1")
    rows.version(1)

    first, second = promote(ci), promote(ci)

    assert (first.status_code, second.status_code) == (202, 202)
    assert second.json() == first.json()
    assert second["Location"] == first["Location"]
    assert second["Idempotent-Replayed"] == "true"
    assert Rollout.objects.count() == 1
    assert Event.objects.filter(verb="promote").count() == 1


def test_the_same_key_with_another_body_is_refused(ci: Client) -> None:
    rows.server("t1")
    rows.version(1)
    promote(ci)

    answer = promote(ci, reason="another")

    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")


def test_the_same_key_on_another_path_is_refused(ci: Client) -> None:
    rows.server("t1")
    rows.version(1)
    promote(ci)

    answer = ci.post("/api/v1/unloads", PROMOTION, content_type="application/json", headers={"Idempotency-Key": "k1"})

    assert answer.json()["code"] == "idempotency_key_reused"


def test_a_refused_request_may_be_sent_again_under_its_key(ci: Client) -> None:
    rows.version(1)
    rows.environment()
    refused = promote(ci)
    rows.server("t1")

    accepted = promote(ci)

    assert (refused.status_code, refused.json()["code"]) == (409, "no_servers")
    assert accepted.status_code == 202


def test_a_request_that_is_still_worked_on_is_not_started_again(ci: Client) -> None:
    rows.server("t1")
    rows.version(1)
    promote(ci)
    IdempotencyKey.objects.update(status=None, body=None, created_at=timezone.now())

    answer = promote(ci)

    assert (answer.status_code, answer.json()["code"]) == (409, "request_in_progress")
    assert answer["Retry-After"]


def test_after_a_process_died_between_the_work_and_its_answer_nothing_is_done_twice(ci: Client) -> None:
    rows.server("t1")
    rows.version(1)
    promote(ci)
    IdempotencyKey.objects.update(status=None, body=None, created_at=timezone.now() - timedelta(minutes=2))

    answer = promote(ci)

    assert (answer.status_code, answer.json()["code"]) == (409, "rollout_active")
    assert Rollout.objects.count() == 1


def test_a_key_that_cannot_be_kept_is_refused(ci: Client) -> None:
    assert promote(ci, key="x" * 300).json()["code"] == "idempotency_key_invalid"


def test_the_same_upload_makes_one_version_and_other_bytes_are_told_apart(ci: Client) -> None:
    rows.model()

    first, second, other = upload(ci, b"same"), upload(ci, b"same"), upload(ci, b"diff")

    assert first.status_code == 202
    assert second.json() == first.json()
    assert other.json()["code"] == "idempotency_key_reused"
    assert Version.objects.count() == 1


def test_a_new_tokens_secret_is_never_kept(root: Client) -> None:
    body = {"name": "ci", "scopes": ["read"]}

    root.post("/api/v1/tokens", body, content_type="application/json", headers={"Idempotency-Key": "k"})

    assert not IdempotencyKey.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_the_same_request_sent_at_once_one_starts_something(ci: Client) -> None:
    rows.server("t1")
    rows.version(1)
    barrier = Barrier(4)

    def send() -> Any:
        barrier.wait()
        try:
            return promote(ci)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        answers = [sent.result() for sent in [pool.submit(send) for _ in range(4)]]

    assert {answer.status_code for answer in answers} <= {202, 409}
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} <= {"request_in_progress"}
    assert Rollout.objects.count() == 1
    assert promote(ci).status_code == 202


def test_an_upload_whose_answer_was_lost_makes_no_second_version(ci: Client) -> None:
    rows.model()
    first = upload(ci, b"same")
    IdempotencyKey.objects.update(status=None, body=None, created_at=timezone.now() - timedelta(hours=1))

    again = upload(ci, b"same")

    assert (again.status_code, again.json()["number"]) == (202, first.json()["number"])
    assert Version.objects.count() == 1
