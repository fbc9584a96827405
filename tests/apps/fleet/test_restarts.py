"""Telling a restart from two looks. Pure."""

from datetime import UTC, datetime

from apps.fleet.restarts import NOTHING, asked_since, judge

BEFORE = {"a/1": (10, 500), "b/1": (3, 90), "idle/1": (0, 0)}


def both(**after: tuple[int, int]) -> dict[str, tuple[int, int]]:
    return {**BEFORE, **{key.replace("_", "/"): counted for key, counted in after.items()}}


def test_counters_that_go_on_tell_nothing() -> None:
    assert judge(BEFORE, both(a_1=(11, 520)), ready=BEFORE, listed=BEFORE) == NOTHING


def test_a_server_whose_counters_all_went_back_has_restarted_although_its_index_is_the_same() -> None:
    restart = judge(BEFORE, both(a_1=(1, 40), b_1=(0, 0)), ready=BEFORE, listed=BEFORE)

    assert restart.is_server
    assert restart.versions == {"a/1", "b/1"}


def test_more_requests_in_less_time_are_other_requests() -> None:
    assert judge(BEFORE, both(a_1=(12, 400), b_1=(4, 10)), ready=BEFORE, listed=BEFORE).is_server


def test_one_version_that_started_anew_is_not_the_server() -> None:
    restart = judge(BEFORE, both(a_1=(0, 0)), ready=BEFORE, listed=BEFORE)

    assert (restart.is_server, set(restart.versions)) == (False, {"a/1"})


def test_a_version_that_left_no_trace_tells_a_restart_and_an_unloaded_one_does_not() -> None:
    assert judge({}, {}, ready={"a/1"}, listed=set()).is_server
    assert judge({}, {}, ready={"a/1"}, listed={"a/1"}) == NOTHING


def test_a_directory_deleted_under_a_loaded_version_is_no_restart() -> None:
    assert judge(BEFORE, both(), ready=BEFORE, listed={"b/1"}) == NOTHING


def test_a_version_lost_while_another_goes_on_is_not_the_server() -> None:
    after = {"b/1": (5, 100)}

    assert not judge(BEFORE, after, ready={"a/1", "b/1"}, listed={"b/1"}).is_server


def test_unknown_counters_tell_nothing() -> None:
    assert judge(BEFORE, None, ready=BEFORE, listed=BEFORE) == NOTHING


def test_a_version_counts_as_asked_when_it_has_answered_more_than_before() -> None:
    before, after = {"m/1": (5, 50), "m/2": (7, 70)}, {"m/1": (6, 60), "m/2": (7, 70), "m/3": (9, 90)}
    at = datetime(2026, 11, 30, 3, tzinfo=UTC)

    found = asked_since(before, after, known={"m/2": "earlier", "gone/1": "long ago"}, at=at)

    assert found == {"m/1": at.isoformat(), "m/2": "earlier"}
