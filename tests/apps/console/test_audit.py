"""The audit page and its export."""

import csv
import io
from datetime import UTC, datetime

import pytest
from django.test import Client

from apps.audit.models import Event
from apps.console.shown.links import subject_address


def event(
    verb: str, *, at: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC), reason: str = "", actor: str = "alice"
) -> Event:
    """One event."""
    return Event.objects.create(
        at=at,
        verb=verb,
        actor_kind="user",
        actor=actor,
        door="console",
        subject_kind="server",
        subject="t4",
        reason=reason,
    )


def rows_of(client: Client, query: str = "") -> list[dict[str, str]]:
    """The export, row by row."""
    answer = client.get(f"/audit/export.csv?{query}")
    return list(csv.DictReader(io.StringIO(answer.getvalue().decode())))


def test_events_are_filtered_by_who_and_what(viewer: Client) -> None:
    event("promote", actor="alice", reason="first reason")
    event("roll_back", actor="bob", reason="second reason")

    page = viewer.get("/audit/?actor=bob&verb=roll_back").content.decode()

    assert "second reason" in page
    assert "first reason" not in page


def test_the_last_day_is_whole(viewer: Client) -> None:
    event("promote", at=datetime(2026, 3, 1, 23, 59, tzinfo=UTC))
    event("promote", at=datetime(2026, 3, 2, 0, 1, tzinfo=UTC))

    found = rows_of(viewer, "since=2026-03-01&until=2026-03-01")

    assert [row["at"] for row in found] == ["2026-03-01T23:59:00+00:00"]


def test_the_last_day_there_is_has_no_end(viewer: Client) -> None:
    event("promote")

    assert len(rows_of(viewer, "until=9999-12-31")) == 1


def test_a_date_that_is_none_filters_nothing(viewer: Client) -> None:
    event("promote")

    assert len(rows_of(viewer, "since=yesterday&until=2026-13-45")) == 1


def test_the_export_has_what_the_page_has(viewer: Client) -> None:
    event("promote", reason='says "so", twice')

    assert rows_of(viewer)[0]["reason"] == 'says "so", twice'


def test_no_cell_of_the_export_is_a_formula(viewer: Client) -> None:
    event("promote", reason='=HYPERLINK("http://evil.example")')

    assert rows_of(viewer)[0]["reason"].startswith("'=")


def test_many_events_are_paged_with_the_filters_kept_and_exported_whole(viewer: Client) -> None:
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    told = {"at": at, "verb": "promote", "actor_kind": "user", "door": "api", "subject_kind": "server", "subject": "t4"}
    Event.objects.bulk_create(Event(actor=("alice", "bob")[n % 2], **told) for n in range(2_000))

    page = viewer.get("/audit/?actor=bob&page=2").content.decode()

    assert "Page 2 of 10" in page
    assert '<a rel="next" href="?actor=bob&amp;page=3">' in page
    assert 'href="/audit/export.csv?actor=bob"' in page
    assert len(rows_of(viewer, "actor=bob")) == 1_000


def test_what_was_done_is_chosen_from_what_there_is(viewer: Client) -> None:
    event("roll_back")

    page = viewer.get("/audit/?verb=roll_back").content.decode()

    assert '<option value="roll_back" selected>roll back</option>' in page
    assert '<option value="server_restarted">' in page


@pytest.mark.parametrize(
    ("kind", "subject", "model", "where"),
    [
        ("server", "t4", "", "/servers/t4/"),
        ("model", "digits", "digits", "/models/digits/"),
        ("version", "digits version 3", "digits", "/models/digits/versions/3/"),
        ("alias", "digits@champion", "digits", "/models/digits/"),
        ("sample", "digits/seven", "digits", "/models/digits/"),
        ("release", "12", "", "/releases/12/"),
        ("environment", "prod", "", "/environments/"),
        ("user", "bob", "", "/people/?search=bob"),
        ("token", "ci", "", "/tokens/?search=ci"),
        ("upload", "3f2c", "", ""),
    ],
)
def test_the_subject_of_an_event_leads_to_its_page(kind: str, subject: str, model: str, where: str) -> None:
    assert subject_address(kind, subject, model) == where
