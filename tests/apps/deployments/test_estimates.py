"""How long a rollout still takes: what is known, what is not, and never less than nothing."""

from datetime import UTC, datetime, timedelta

import pytest

from apps.common.estimate import Estimate
from apps.deployments.estimating import WaveLeft, through_at
from apps.deployments.models import Rollout, Run
from apps.deployments.policy import Policy
from apps.deployments.selectors import estimate, run_counts
from tests.factories.fleets import FleetRows

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("waves", "baking_since", "left_s"),
    [
        # Nothing has begun: 5 servers, 2 at a time, 40 s each.
        ([WaveLeft(5, 0, None, 0)], None, 120),
        # Two began, the last 10 s ago; three wait for them.
        ([WaveLeft(3, 2, ago(10), 0)], None, 30 + 80),
        # A bake of a minute stands between two waves.
        ([WaveLeft(0, 1, ago(10), 60), WaveLeft(4, 0, None, 100)], None, 30 + 60 + 80 + 100),
        # In the middle of that bake.
        ([WaveLeft(0, 0, None, 60), WaveLeft(4, 0, None, 100)], ago(45), 15 + 80 + 100),
        # A wave whose servers are all done, a moment before its bake begins.
        ([WaveLeft(0, 0, None, 60)], None, 60),
        ([], None, 0),
        # It takes longer than it should, and a bake is over while its gates are looked at.
        ([WaveLeft(3, 2, ago(41), 0)], None, None),
        ([WaveLeft(0, 0, None, 60)], ago(61), None),
    ],
)
def test_what_is_left_is_loads_side_by_side_and_bakes(
    waves: list[WaveLeft], baking_since: datetime | None, left_s: float | None
) -> None:
    ends_at = through_at(waves, each_s=40, parallel=2, baking_since=baking_since, now=NOW)

    assert Estimate(ends_at).left_s(NOW) == left_s


def test_an_estimate_stands_still_while_all_goes_as_expected_and_is_never_negative() -> None:
    waves = [WaveLeft(3, 2, NOW, 60)]

    first, later = (
        through_at(waves, each_s=40, parallel=2, baking_since=None, now=NOW + timedelta(seconds=passed))
        for passed in (1, 39)
    )

    assert first == later
    assert Estimate(first).left_s(NOW + timedelta(days=1)) == 0


@pytest.fixture
def moving(rows: FleetRows) -> Rollout:
    """Two servers, one at a time, a minute of bake; the first is done in 30 s, the second began 10 s ago."""
    rollout = rows.rollout(
        "digits", "prod", 1, 2, state="running", policy=Policy(bake_s=60, final_bake_s=60).document()
    )
    first, second = rollout.runs.order_by("position")
    Run.objects.filter(pk=first.pk).update(state="succeeded", started_at=ago(40), finished_at=ago(10))
    Run.objects.filter(pk=second.pk).update(state="running", started_at=ago(10), finished_at=None)
    return rollout


def left(rollout: Rollout) -> Estimate:
    return estimate(rollout, run_counts(rollout), Policy.kept(rollout.policy), now=NOW)


def test_servers_that_are_done_tell_what_the_others_will_take(moving: Rollout) -> None:
    assert left(moving).left_s(NOW) == 20 + 60


def test_before_any_is_done_what_earlier_changes_took_is_expected(moving: Rollout) -> None:
    moving.runs.filter(position=0).update(state="queued", started_at=None, finished_at=None)
    unknown = left(moving)
    moving.plan["each_s"] = 15

    assert unknown == Estimate(why="no server is done yet")
    assert left(moving).left_s(NOW) == 5 + 15 + 60


def test_a_hot_rollback_that_hangs_is_not_said_to_be_the_first_of_its_kind(rows: FleetRows) -> None:
    rows.rollout("digits", "prod", 2, 1, kind="rollback")

    again = rows.rollout("digits", "prod", 2, 1, kind="rollback", state="running")
    again.runs.update(state="running", started_at=ago(2), finished_at=None)

    assert left(again) == Estimate(why="no server is done yet")


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("unapproved", "it begins once somebody has approved"),
        ("paused", "it is paused"),
        ("reverting", "what has changed so far is being put back"),
        ("succeeded", ""),
    ],
)
def test_what_is_not_known_is_said(moving: Rollout, state: str, why: str) -> None:
    moving.state = state

    assert left(moving) == Estimate(why=why)


def test_what_takes_longer_than_before_has_no_estimate(moving: Rollout) -> None:
    moving.runs.filter(position=1).update(started_at=ago(31))

    assert left(moving) == Estimate(why="it takes longer than it did before")
