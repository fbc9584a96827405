"""The audit page and its export."""

import ast
import csv
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.test import Client

from apps.audit.models import Event
from apps.console.audit import verbs_to_choose
from apps.console.shown.links import subject_address
from apps.deployments.services.beginning import VERBS
from apps.deployments.states import ACTIVE_ROLLOUT, RolloutState
from tests.docs.documents import ROOT

# What keeps an event, and what hands one on to it.
RECORDING = ("record", "_record", "_tell", "_turned", "record_release", "tell_once")


def event(
    verb: str,
    *,
    at: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC),
    reason: str = "",
    actor: str = "alice",
    **detail: object,
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
        detail=detail,
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


def test_an_event_is_found_by_what_a_server_said(viewer: Client) -> None:
    said = {"reason": 'ValueError: weights "w.bin" missing\nsecond line'}
    event("rollout_failed", reason="prod-1: digits 2 did not come up", error=said)
    event("promote", reason="the weights are new")

    by_words, by_reason = (rows_of(viewer, f"text={words}") for words in ('WEIGHTS "w.bin"', "did not come up"))

    assert [row["verb"] for row in by_words] == ["rollout_failed"]
    assert [row["verb"] for row in by_reason] == ["rollout_failed"]
    assert "digits 2 did not come up" in viewer.get("/audit/?text=valueerror").content.decode()


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


def test_whatever_is_written_down_can_be_chosen() -> None:
    written = {verb for path in _sources() for verb in _written(path)}

    assert {"approve", "heal_more", "drift_began", "neighbours_hurt"} <= written
    assert {verb for verb in written if verb not in verbs_to_choose()} == set()


@pytest.mark.parametrize(
    "verb",
    [
        *VERBS.values(),
        *(f"rollout_{state}" for state in RolloutState if state not in ACTIVE_ROLLOUT),
        *(f"version_{state}" for state in ("choosing", "ready", "rejected")),
        *(f"{verb}_release" for verb in ("approve", "pause", "resume")),
    ],
)
def test_what_is_written_with_a_state_can_be_chosen_too(verb: str) -> None:
    assert verb in verbs_to_choose()


def _sources() -> Iterator[Path]:
    yield from (path for room in ("apps", "worker") for path in (ROOT / room).rglob("*.py"))


def _written(path: Path) -> Iterator[str]:
    """The verbs that stand in a file's calls of what records, also where one of two is chosen."""
    for call in ast.walk(ast.parse(path.read_text())):
        if isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] in RECORDING:
            choices = [one for one in call.args if isinstance(one, ast.IfExp)]
            given = [*call.args, *(one.body for one in choices), *(one.orelse for one in choices)]
            yield from (one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str))


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
