"""What was live when, on the model's page."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from apps.deployments.models import PlacementChange
from tests.factories.fleets import FleetRows

PAGE = "/models/digits/"
BEGAN = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def history(rows: FleetRows) -> FleetRows:
    """Version 1, then version 2 in staging, an hour apart."""
    for hours, old, new in ((0, None, 1), (1, 1, 2)):
        rollout = rows.rollout("digits", "staging", old, new, reason=f"brings {new} <b>")
        PlacementChange.objects.create(
            placement=rollout.placement,
            at=BEGAN + timedelta(hours=hours),
            what="done",
            active=rollout.to_version,
            standby=rollout.from_version,
            rollout=rollout,
            actor="alice",
            actor_kind="user",
            reason=rollout.reason,
        )
    return rows


def then(client: Client, **asked: Any) -> str:
    """The section of the page."""
    page = client.get(PAGE, asked).content.decode()
    return page[page.index('id="then"') : page.index("<h2>Samples")]


def test_without_history_it_says_what_will_be_kept(rows: FleetRows, viewer: Client) -> None:
    assert "Nothing was ever live" in then(viewer)


@pytest.mark.parametrize("asked", [{"stop": "0"}, {"at": "2026-03-01T12:30"}, {"at": "2026-03-01T12:30:00Z"}])
def test_a_stop_or_a_moment_tells_what_was_live_and_how_to_put_it_back(
    history: FleetRows, viewer: Client, asked: dict[str, str]
) -> None:
    told = then(viewer, **asked)

    assert "by" in told.lower()
    assert "alice" in told
    assert "brings 1 &lt;b&gt;" in told
    assert 'href="/models/digits/in/staging/roll-back/?to=1"' in told


def test_what_is_the_same_as_now_offers_nothing(history: FleetRows, viewer: Client) -> None:
    told = then(viewer, stop="2")

    assert "the same" in told
    assert "roll-back" not in told


def test_what_is_still_to_come_is_shown_as_now(history: FleetRows, viewer: Client) -> None:
    told = then(viewer, at="2100-01-01T00:00")

    assert "the same" in told
    assert "2100" not in told


def test_before_anything_was_live_it_says_so(history: FleetRows, viewer: Client) -> None:
    told = then(viewer, at="2020-01-01T00:00")

    assert "nothing was live yet" in told
    assert 'href="/models/digits/in/staging/unload/"' in told


@pytest.mark.parametrize(
    "asked",
    [
        {"stop": "-1"},
        {"stop": "99"},
        {"stop": "9" * 5_000},
        {"at": "yesterday"},
        {"at": "2026-02-30T00:00"},
        {"at": "0001-01-01T00:00:00+14:00"},
        {"at": "9999-12-31T23:59:59-14:00"},
        {},
    ],
)
def test_what_is_no_moment_asks_for_nothing(history: FleetRows, viewer: Client, asked: dict[str, str]) -> None:
    assert "Move the slider" in then(viewer, **asked)
