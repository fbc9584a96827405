"""The console while PostgreSQL is away: it says so in words, and what serves on."""

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client

from demo.parts.ports import free_port

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def database_away(admin_client: Client) -> Iterator[Client]:
    """Somebody who has signed in before nobody listens any more at the database's port."""
    admin_client.raise_request_exception = False
    known = dict(connection.settings_dict)
    connection.close()
    connection.settings_dict |= {"HOST": "127.0.0.1", "PORT": str(free_port())}
    yield admin_client
    connection.close()
    connection.settings_dict |= known


@pytest.mark.parametrize("path", ["/", "/models/", "/audit/", "/sign-in/"])
def test_a_page_says_that_the_database_is_away_and_asks_again_by_itself(database_away: Client, path: str) -> None:
    answer = database_away.get(path)

    told = answer.content.decode()
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert "The database does not answer" in told
    assert "The models serve on" in told
    assert '<meta http-equiv="refresh" content="5">' in told
    assert "Traceback" not in told


def test_what_was_sent_is_not_sent_again_by_itself(database_away: Client) -> None:
    answer = database_away.post("/models/digits/in/prod/promote/", {"version": "2"})

    told = answer.content.decode()
    assert answer.status_code == 503
    assert "Whether what you sent has begun is not known" in told
    assert "http-equiv" not in told


def test_rest_answers_a_problem(database_away: Client) -> None:
    answer = database_away.get("/api/v1/models")

    assert (answer.status_code, answer.json()["code"], answer.json()["retryable"]) == (
        503,
        "database_unavailable",
        True,
    )
    assert int(answer["Retry-After"]) > 0
