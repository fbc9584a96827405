"""Moments that charts mark: who did what and why, and what happened by itself."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from apps.audit.models import Event
from apps.deployments import selectors
from apps.deployments.models import Drift, Rollout
from apps.metrics.marks import SYMBOLS
from tests.apps.api import rows

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def marks(**about: str) -> list[tuple[str, str, str]]:
    found = selectors.marks(**about, since=NOW - timedelta(hours=1), until=NOW)
    assert {mark.kind for mark in found} <= set(SYMBOLS)
    return [(mark.kind, mark.label, mark.url) for mark in found]


def at(minutes: int) -> datetime:
    return NOW - timedelta(minutes=minutes)


def test_a_rollout_is_marked_where_it_began_and_where_it_ended() -> None:
    rollout = rows.rollout(rows.placement(), to=rows.version(2))
    Rollout.objects.filter(pk=rollout.pk).update(created_at=at(20), finished_at=at(10), reason="better")

    assert marks(model="digits") == [
        ("began", "promote digits none > 2 in prod, by alice: better", f"/rollouts/{rollout.pk}/"),
        ("succeeded", "digits none > 2 in prod: succeeded", f"/rollouts/{rollout.pk}/"),
    ]


def test_drift_is_marked_on_its_models_charts_and_not_on_others() -> None:
    server = rows.server("t1")
    Drift.objects.create(
        server=server, model="digits", version=2, kind="wrong_set", reason="by hand", since=at(30), ended_at=at(5)
    )

    assert marks(model="digits") == [
        ("drift", "drift: digits 2 wrong set on t1 (by hand)", "/servers/t1/"),
        ("in_line", "no longer digits 2 wrong set on t1", "/servers/t1/"),
    ]
    assert marks(model="bert") == []
    assert marks(server="t2") == []


def test_a_server_that_restarted_or_fell_silent_is_marked_on_every_models_charts() -> None:
    server = rows.server("t1")
    Event.objects.create(
        at=at(7),
        verb="server_restarted",
        actor_kind="system",
        actor="conch",
        subject_kind="server",
        subject="t1",
        environment="prod",
        reason="2 versions started anew or are gone",
    )
    Drift.objects.create(server=server, kind="unreachable", since=at(8))

    assert marks(model="digits", environment="prod") == [
        ("drift", "drift: unreachable on t1", "/servers/t1/"),
        ("restart", "t1 restarted: 2 versions started anew or are gone", "/servers/t1/"),
    ]
    assert marks(environment="staging") == []


def test_what_ended_before_the_time_shown_is_not_marked() -> None:
    Drift.objects.create(
        server=rows.server("t1"), model="digits", version=2, kind="missing", since=at(90), ended_at=at(80)
    )

    assert marks(model="digits") == []
