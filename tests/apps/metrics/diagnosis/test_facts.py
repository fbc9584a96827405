"""Numbers that rules look at, from courses with gaps."""

from apps.metrics.diagnosis.facts import (
    average,
    cold_ratio,
    growth,
    kept_after_unload,
    knee,
    longer_delay_us,
    ratio,
    slowest,
)


def test_a_gap_is_in_no_mean() -> None:
    assert average([None, 2.0, None, 4.0]) == 3.0
    assert average([None, None]) is None
    assert average([]) is None


def test_a_share_of_nothing_is_not_known() -> None:
    assert ratio(1.0, 0.0) is None
    assert ratio(None, 4.0) is None
    assert ratio(1.0, 4.0) == 0.25


def test_a_queue_delay_to_try_is_never_shorter_than_twice_the_present_one() -> None:
    assert longer_delay_us(0, compute_ms=2.0) == 1_000
    assert longer_delay_us(2_000, compute_ms=2.0) == 4_000
    assert longer_delay_us(2_000, compute_ms=None) == 4_000
    assert longer_delay_us(4_000, compute_ms=90.0) == 5_000
    assert longer_delay_us(0, compute_ms=None) is None


def test_growth_compares_the_end_with_the_beginning() -> None:
    assert growth([2.0, 2.0, 5.0, 5.0, 8.0, 8.0]) == 4.0
    assert growth([0.0, 0.0, 5.0, 5.0, 8.0, 8.0]) == 8.0
    assert growth([None, 3.0]) is None


def test_the_slowest_is_held_against_the_median_of_its_peers() -> None:
    assert slowest({"a": 10.0, "b": 12.0, "c": 44.0}) == ("c", 4.0)
    assert slowest({"a": 10.0, "b": None}) == ("", None)


def test_the_knee_is_where_a_larger_batch_saves_nothing() -> None:
    batches = [2.0] * 4 + [8.0] * 4

    assert knee(batches, [4.0] * 4 + [16.0] * 4) == (2.0, 8.0, 1.0)
    assert knee(batches, [4.0] * 4 + [5.0] * 4) == (2.0, 8.0, 0.3125)


def test_without_batches_that_differ_there_is_no_knee_to_see() -> None:
    assert knee([4.0] * 8, [8.0] * 8) is None
    assert knee([None] * 8, [8.0] * 8) is None


def test_a_cold_start_is_the_first_minutes_against_the_rest() -> None:
    assert cold_ratio([5.0, 5.0, 40.0, 40.0, 4.0, 4.0], loaded_at=2, warm_after=4) == 10.0
    assert cold_ratio([5.0, 40.0], loaded_at=1, warm_after=2) is None


def test_memory_that_stays_is_told_as_a_share_of_what_the_load_took() -> None:
    memory = [10.0] * 4 + [30.0] * 4 + [28.0] * 4

    assert kept_after_unload(memory, loaded_at=4, unloaded_at=8, settled=1) == (18.0, 0.9)
    assert kept_after_unload([10.0] * 12, loaded_at=4, unloaded_at=8, settled=1) is None
