"""What takes long says how long it still takes, or that nobody knows."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import services
from apps.deployments.models import Run
from apps.registry.models import Fetch, Version
from tests.factories.fleets import FleetRows

LEFT = re.compile(r"data-left>about (\d+) s left</time>")


def test_a_promotion_says_how_long_it_takes_from_what_the_last_one_took(rows: FleetRows, viewer: Client) -> None:
    now = timezone.now()
    rows.rollout("digits", "staging", 1, 2)
    Run.objects.filter(rollout__kind="promote").update(started_at=now - timedelta(seconds=20), finished_at=now)
    rollout = services.promote(COMMAND, environment="prod", model="digits", version=2, reason="better")

    page = viewer.get(f"/rollouts/{rollout.pk}/").content.decode()

    assert rollout.plan["each_s"] == 20
    assert (found := LEFT.search(page))
    # Two servers, one at a time.
    assert 35 <= int(found[1]) <= 40


@pytest.mark.parametrize("path", ["/", "/rollouts/"])
def test_the_lists_say_it_of_what_moves(rows: FleetRows, viewer: Client, path: str) -> None:
    now = timezone.now()
    rows.rollout("digits", "staging", 1, 2)
    Run.objects.filter(rollout__kind="promote").update(started_at=now - timedelta(seconds=20), finished_at=now)
    services.promote(COMMAND, environment="prod", model="digits", version=2, reason="better")

    page = viewer.get(path).content.decode()

    (left,) = LEFT.findall(page)
    assert 35 <= int(left) <= 40


def test_a_rollout_that_waits_for_somebody_says_so(rows: FleetRows, viewer: Client) -> None:
    rollout = rows.rollout("digits", "prod", 1, 2, state="unapproved")

    page = viewer.get(f"/rollouts/{rollout.pk}/").content.decode()

    assert "time left not known: it begins once somebody has approved" in page


def test_a_fetch_says_how_fast_it_comes_and_how_long_it_takes(rows: FleetRows, viewer: Client) -> None:
    now = timezone.now()
    version = Version.objects.create(
        model=rows.models["digits"], number=9, state="fetching", size_bytes=0, source="s3://models/digits.zip"
    )
    Version.objects.filter(pk=version.pk).update(created_at=now - timedelta(seconds=10))
    Fetch.objects.create(version=version, limit_bytes=1, size_bytes=6 << 20, received_bytes=1 << 20, moved_at=now)

    page = viewer.get("/models/digits/versions/9/").content.decode()

    assert "1.0 MiB of 6.0 MiB, 102.4 KiB/s, " in page
    assert (found := LEFT.search(page))
    assert 45 <= int(found[1]) <= 50


def test_a_check_says_its_step_and_that_nobody_knows_how_long_it_takes(rows: FleetRows, viewer: Client) -> None:
    Version.objects.create(model=rows.models["digits"], number=8, state="received", size_bytes=3 << 20)
    Version.objects.create(model=rows.models["digits"], number=9, state="checking", size_bytes=3 << 20)

    received, checking = (viewer.get(f"/models/digits/versions/{number}/").content.decode() for number in (8, 9))

    assert "Step 1 of 2: it waits for a worker. 3.0 MiB in all; time left not known" in received
    assert "Step 2 of 2: Conch unpacks and checks it. 3.0 MiB in all; time left not known" in checking
