"""Conch's own /metrics: Prometheus's format, Conch's rows, one token."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from apps.deployments import services
from apps.deployments.models import Drift, Placement, Rollout
from apps.deployments.services import record_probe
from apps.fleet.models import Observation
from apps.registry.models import Model
from tests.apps.api import rows

pytestmark = pytest.mark.django_db
# One finds the token.
QUERIES = 12


def scrape(client: Client) -> dict[str, float]:
    """Every sample, by name and labels as they are written."""
    text = client.get("/metrics").content.decode()
    return {
        sample.name + "".join(f" {name}={value}" for name, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_rollouts_are_counted_while_they_move_and_timed_when_they_end(root: Client) -> None:
    now = timezone.now()
    moving = rows.rollout(rows.placement(), to=rows.version(1), servers=1)
    ended = rows.rollout(rows.placement("other"), to=rows.version(1, of="other"), servers=1)
    Rollout.objects.filter(pk=moving.pk).update(state="running", finished_at=None)
    Rollout.objects.filter(pk=ended.pk).update(
        state="succeeded", created_at=now - timedelta(seconds=45), finished_at=now - timedelta(seconds=10)
    )

    found = scrape(root)

    ended_so = " environment=prod kind=promote"
    assert found["conch_rollouts_active environment=prod kind=promote state=running"] == 1
    assert found[f"conch_rollout_duration_seconds_bucket{ended_so} le=30.0 state=succeeded"] == 0
    assert found[f"conch_rollout_duration_seconds_bucket{ended_so} le=60.0 state=succeeded"] == 1
    assert found[f"conch_rollout_duration_seconds_sum{ended_so} state=succeeded"] == pytest.approx(35)


def test_what_was_counted_once_is_not_counted_again(root: Client) -> None:
    now, placement, version = timezone.now(), rows.placement(), rows.version(1)
    for hours in (5, 4, 0):
        at = now - timedelta(hours=hours)
        one = rows.rollout(placement, to=version, servers=0)
        Rollout.objects.filter(pk=one.pk).update(
            state="succeeded", created_at=at - timedelta(seconds=7), finished_at=at
        )
    before = scrape(root)

    counted = [services.tally_ended(now) for _ in range(2)]

    assert counted == [2, 0]
    assert scrape(root) == before
    assert before["conch_rollout_duration_seconds_count environment=prod kind=promote state=succeeded"] == 3


def test_what_ends_behind_one_that_moves_is_counted_too(root: Client) -> None:
    long_ago = timezone.now() - timedelta(hours=9)
    moving = rows.rollout(rows.placement(), to=rows.version(1), servers=1)
    ended = rows.rollout(rows.placement("other"), to=rows.version(1, of="other"), servers=1)
    Rollout.objects.filter(pk=moving.pk).update(state="running", created_at=long_ago, finished_at=None)
    Rollout.objects.filter(pk=ended.pk).update(state="succeeded", created_at=long_ago, finished_at=long_ago)

    services.tally_ended(timezone.now())
    Rollout.objects.filter(pk=moving.pk).update(state="succeeded", finished_at=long_ago)
    services.tally_ended(timezone.now())

    assert scrape(root)["conch_rollout_duration_seconds_count environment=prod kind=promote state=succeeded"] == 2


def test_work_that_nobody_takes_up_is_late(root: Client) -> None:
    rollout = rows.rollout(rows.placement(), to=rows.version(1), servers=1)
    Rollout.objects.filter(pk=rollout.pk).update(state="running", due_at=timezone.now() - timedelta(seconds=90))

    assert scrape(root)["conch_queue_lag_seconds"] == pytest.approx(90, abs=5)


def test_without_work_nothing_is_late(root: Client) -> None:
    assert scrape(root)["conch_queue_lag_seconds"] == 0


def test_servers_tell_when_they_were_looked_at_and_what_they_lack(root: Client) -> None:
    server = rows.server("t1")
    Observation.objects.filter(server=server).update(at=timezone.now() - timedelta(seconds=70))
    placement = rows.placement()
    Placement.objects.filter(pk=placement.pk).update(active=rows.version(1))
    Drift.objects.create(server=server, model="digits", version=1, kind="missing", since=timezone.now())

    found = scrape(root)

    assert found["conch_observation_age_seconds environment=prod server=t1"] == pytest.approx(70, abs=5)
    assert found["conch_server_reachable environment=prod server=t1"] == 1
    assert found["conch_drift environment=prod kind=missing"] == 1
    assert found["conch_active_version environment=prod model=digits"] == 1


def test_a_warm_up_that_failed_is_told_until_a_newer_one_passes(root: Client) -> None:
    server, version = rows.server("t1"), rows.version(1)
    placement = rows.placement(active=version)
    now = timezone.now()
    asked: dict[str, Any] = {"version": 1, "kind": "warmup"}
    record_probe(placement, server, **asked, at=now - timedelta(seconds=9), message="t1: no such model")
    record_probe(placement, server, version=7, kind="verify", at=now, message="it was rolled back since")
    failing = scrape(root)
    record_probe(placement, server, **asked, at=now, latency_us=900)

    name = "conch_probe_failed environment=prod model=digits server=t1"
    assert failing[name] == 1
    assert name not in scrape(root)


def test_promises_are_told_for_the_rules(root: Client) -> None:
    Model.objects.create(name="m", slo_p99_ms=60, slo_error_ratio=0.01)
    Model.objects.create(name="without")

    found = scrape(root)

    assert (found["conch_slo_p99_ms model=m"], found["conch_slo_error_ratio model=m"]) == (60, 0.01)
    assert not [name for name in found if "without" in name]


@pytest.mark.parametrize("count", [3, 30])
def test_a_scrape_costs_the_same_in_a_small_and_a_large_fleet(count: int, root: Client) -> None:
    rows.fill(count)
    root.get("/api/v1/me")

    with CaptureQueriesContext(connection) as queries:
        root.get("/metrics")

    assert len(queries) == QUERIES


def test_nobody_scrapes_conch_without_a_token(client: Client) -> None:
    assert client.get("/metrics").status_code == 401
