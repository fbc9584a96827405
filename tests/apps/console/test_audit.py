"""The audit page and its export."""

import csv
import io
from datetime import UTC, datetime

from django.test import Client

from apps.audit.models import Event


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


def test_a_date_that_is_none_filters_nothing(viewer: Client) -> None:
    event("promote")

    assert len(rows_of(viewer, "since=yesterday&until=2026-13-45")) == 1


def test_the_export_has_what_the_page_has(viewer: Client) -> None:
    event("promote", reason='says "so", twice')

    assert rows_of(viewer)[0]["reason"] == 'says "so", twice'


def test_no_cell_of_the_export_is_a_formula(viewer: Client) -> None:
    event("promote", reason='=HYPERLINK("http://evil.example")')

    assert rows_of(viewer)[0]["reason"].startswith("'=")
