"""The points in time of a chart."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from apps.metrics.errors import BadRange
from apps.metrics.windows import LONGEST_S, LONGEST_SLOT_S, MAX_POINTS, SHORTEST_S, rate_window_s, window_for

NOW = datetime(2026, 1, 1, 12, 0, 2, tzinfo=UTC)


@given(range_s=some.integers(SHORTEST_S, LONGEST_S), scrape=some.sampled_from([1, 2, 5, 15, 30, 60]))
def test_any_range_is_a_grid_that_prometheus_gives(range_s: int, scrape: int) -> None:
    window = window_for(range_s, now=NOW, scrape_interval_s=scrape)

    assert 1 <= len(window) < MAX_POINTS
    assert window.step_s >= scrape
    assert (window.end_s - window.start_s) % window.step_s == 0
    assert 0 <= NOW.timestamp() - window.end_s < min(window.step_s, LONGEST_SLOT_S)


@given(range_s=some.integers(SHORTEST_S, LONGEST_S), scrape=some.sampled_from([1, 2, 15]))
def test_a_rate_looks_over_four_scrapes_and_leaves_nothing_out_between_points(range_s: int, scrape: int) -> None:
    window = window_for(range_s, now=NOW, scrape_interval_s=scrape)

    assert rate_window_s(window, scrape_interval_s=scrape) >= max(4 * scrape, window.step_s)


def test_viewers_within_the_same_seconds_ask_the_same() -> None:
    one = window_for(900, now=NOW, scrape_interval_s=15)
    other = window_for(900, now=NOW + timedelta(seconds=1.5), scrape_interval_s=15)

    assert one == other


@pytest.mark.parametrize("range_s", [900, 3_600, 4 * 3_600])
def test_from_one_slot_to_the_next_the_points_stay_where_they_are(range_s: int) -> None:
    before = window_for(range_s, now=NOW, scrape_interval_s=15)
    after = window_for(range_s, now=NOW + timedelta(seconds=before.step_s), scrape_interval_s=15)

    assert after.end_s - before.end_s == before.step_s
    assert (after.start_s - before.start_s) % before.step_s == 0


@pytest.mark.parametrize("range_s", [0, 59, LONGEST_S + 1, -900])
def test_a_range_no_chart_can_show_is_refused(range_s: int) -> None:
    with pytest.raises(BadRange, match=f"range_s is {range_s}"):
        window_for(range_s, now=NOW, scrape_interval_s=15)
