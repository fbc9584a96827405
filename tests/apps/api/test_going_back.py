"""Holds, bans and rollbacks over REST."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.deployments.models import Ban, Placement
from tests.apps.api import rows

pytestmark = pytest.mark.django_db


def send(client: Client, path: str, **body: Any) -> Any:
    return client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")


def live_two() -> Placement:
    """Version 2 is live, 1 is the standby and has passed a shadow."""
    one, two = rows.version(1), rows.version(2)
    placed = rows.placement(active=two)
    Placement.objects.update(standby=one)
    rows.rollout(placed, to=one).runs.get().steps.update(name="shadow")
    return placed


def roll_back(client: Client, **more: Any) -> Any:
    return send(client, "rollbacks", environment="prod", model="digits", reason="p99 doubled", **more)


def test_a_rollback_holds_and_bans_and_both_can_be_read(ci: Client) -> None:
    live_two()

    rollout = roll_back(ci).json()

    placement = ci.get("/api/v1/placements/prod/digits").json()
    (ban,) = ci.get("/api/v1/bans?environment=prod&active=true").json()["results"]
    assert (placement["held_by"], placement["hold_reason"]) == ("ci", "p99 doubled")
    assert (ban["version"], ban["reason"], ban["actor"], ban["rollout"]) == (2, "p99 doubled", "ci", rollout["id"])
    assert (rollout["restored_at"], rollout["time_to_restore_s"]) == (None, None)


def test_a_banned_version_is_refused_and_goes_again_once_the_ban_is_lifted(ci: Client) -> None:
    placed = rows.placement(active=rows.version(1))
    rows.server("t1")
    ban = rows.ban(placed, rows.version(2))
    wanted = {"environment": "prod", "model": "digits", "version": 2}

    refused = send(ci, "rollouts", **wanted)
    lifted = send(ci, f"bans/{refused.json()['facts']['ban']}/lift", reason="labels were right")
    accepted = send(ci, "rollouts", **wanted)

    assert (refused.status_code, refused.json()["code"]) == (409, "version_banned")
    assert "wrong labels" in refused.json()["detail"]
    assert (lifted.json()["lifted_by"], lifted.json()["lift_reason"]) == ("ci", "labels were right")
    assert accepted.status_code == 202
    assert ci.get(f"/api/v1/bans/{ban.pk}").json()["lifted_at"] is not None


def test_without_ban_nothing_is_banned(ci: Client) -> None:
    live_two()

    assert roll_back(ci, ban=False).status_code == 202
    assert not Ban.objects.exists()


def test_a_placement_is_held_and_let_go(ci: Client) -> None:
    rows.placement(active=rows.version(1))
    rows.version(2)
    rows.server("t1")

    held = send(ci, "placements/prod/digits/hold", reason="incident")
    refused = send(ci, "rollouts", environment="prod", model="digits", version=2)
    free = send(ci, "placements/prod/digits/unhold", reason="over")
    again = send(ci, "placements/prod/digits/unhold", reason="over")

    assert (held.json()["held_by"], held.json()["hold_reason"]) == ("ci", "incident")
    assert (refused.status_code, refused.json()["code"]) == (409, "placement_held")
    assert free.json()["held_at"] is None
    assert again.json()["code"] == "placement_not_held"


@pytest.mark.parametrize("path", ["placements/prod/digits/hold", "placements/prod/digits/unhold", "bans/{ban}/lift"])
def test_a_viewer_changes_none_of_it(path: str, script: Any) -> None:
    ban = rows.ban(rows.placement(active=rows.version(1)), rows.version(2))

    answer = send(script("read"), path.format(ban=ban.pk), reason="because")

    assert answer.status_code == 403


def test_placements_at_a_moment_are_those_of_then_with_who_and_why(ci: Client) -> None:
    one, two = rows.version(1), rows.version(2)
    placed = rows.placement(active=two)
    first = rows.rollout(placed, to=one)
    rows.changed(first, at=datetime(2026, 3, 1, 12, tzinfo=UTC))
    rows.changed(rows.rollout(placed, to=two), at=datetime(2026, 3, 2, 12, tzinfo=UTC))

    told = ci.get("/api/v1/placements?at=2026-03-02T11:59:59Z").json()["results"]

    (row,) = told
    assert (row["environment"], row["model"], row["active"]) == ("prod", "digits", 1)
    assert row["since"] == "2026-03-01T12:00:00Z"
    assert row["changed"] == {
        "what": "done",
        "coming": None,
        "rollout": first.pk,
        "actor": "alice",
        "actor_kind": "user",
        "reason": "",
        "active_now": 2,
        "standby_now": None,
        "overlay_now": None,
        "differs": True,
        "differs_in": ["active"],
    }
    (before,) = ci.get("/api/v1/placements?at=2026-03-01T11:00:00Z").json()["results"]
    assert (before["active"], before["since"], before["changed"]["what"]) == (None, None, "nothing")
    assert (before["changed"]["rollout"], before["changed"]["active_now"]) == (None, 2)
    assert ci.get("/api/v1/placements").json()["results"][0]["changed"] is None


def test_what_is_still_to_come_is_refused_with_the_time_here(ci: Client) -> None:
    answer = ci.get("/api/v1/placements?at=2100-01-01T00:00:00Z")

    assert (answer.status_code, answer.json()["code"]) == (400, "fields_invalid")
    assert "2100-01-01T00:00:00+00:00 is still to come: here it is 2" in str(answer.json()["errors"])


def test_a_clock_that_is_a_little_ahead_is_told_what_is_now(ci: Client) -> None:
    rows.placement(active=rows.version(1))
    soon = timezone.now() + timedelta(seconds=20)

    (row,) = ci.get("/api/v1/placements", {"at": soon.isoformat()}).json()["results"]

    assert row["changed"]["active_now"] == 1
