"""How long a version has run well somewhere: what ends that time, what spoils it, and what does neither."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.deployments.models import PlacementChange, Rollout
from apps.deployments.selectors.elsewhere import ran_well
from tests.factories.fleets import FleetRows

NOW = timezone.now()


def ended(
    rows: FleetRows, kind: str, old: int | None, new: int, *, hours_ago: int, state: str = "succeeded"
) -> Rollout:
    ago = NOW - timedelta(hours=hours_ago)
    return rows.rollout("digits", "prod", old, new, kind=kind, state=state, finished_at=ago)


def hours(rows: FleetRows, number: int) -> float:
    return ran_well(rows.versions["digits", number], "prod", now=NOW).total_seconds() / 3600


def test_it_counts_from_when_it_went_live(rows: FleetRows) -> None:
    ended(rows, "promote", 1, 2, hours_ago=3)

    assert hours(rows, 2) == 3


@pytest.mark.parametrize("kind", ["heal", "rollback"])
def test_a_server_that_was_brought_right_neither_ends_nor_spoils_the_time(rows: FleetRows, kind: str) -> None:
    ended(rows, "promote", 1, 2, hours_ago=3)
    ended(rows, kind, 2, 2, hours_ago=1)

    assert hours(rows, 2) == 3


def test_a_change_of_overlay_begins_a_time_of_its_own_and_spoils_none(rows: FleetRows) -> None:
    ended(rows, "promote", 1, 2, hours_ago=5)
    ended(rows, "reconfigure", 2, 2, hours_ago=3)

    assert hours(rows, 2) == 3


def test_what_was_rolled_back_has_not_run_well(rows: FleetRows) -> None:
    ended(rows, "promote", 1, 2, hours_ago=3)
    ended(rows, "rollback", 2, 1, hours_ago=1)

    assert (hours(rows, 2), hours(rows, 1)) == (0, 1)


def test_nor_has_what_was_rolled_back_where_one_server_did_not_follow(rows: FleetRows) -> None:
    ended(rows, "promote", 1, 2, hours_ago=3)
    rollback = ended(rows, "rollback", 2, 1, hours_ago=1, state="failed")
    placement = rows.placements["digits", "prod"]
    PlacementChange.objects.create(placement=placement, rollout=rollback, what="done", at=NOW)

    assert hours(rows, 2) == 0


def test_the_same_files_in_another_archive_have_run_too(rows: FleetRows) -> None:
    two, three = rows.versions["digits", 2], rows.versions["digits", 3]
    assert two.artifact is not None
    assert three.artifact is not None
    three.artifact.files = two.artifact.files
    three.artifact.save()
    ended(rows, "promote", 1, 2, hours_ago=3)

    assert hours(rows, 3) == 3
