"""What a policy may say, and what it means for a fleet."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.deployments.errors import PolicyInvalid
from apps.deployments.policy import Policy

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
P99 = {"name": "p99", "signal": "latency_quantile", "limit": 60}


def test_without_a_word_a_policy_is_one_server_after_another_and_no_gates() -> None:
    policy = Policy.parse({})

    assert (policy.wave_sizes(5), policy.parallel, policy.gates, policy.bake_s) == ((5,), 1, (), 0)
    assert (policy.standby_window_s, policy.progress_deadline_s) == (1_800, 600)


@pytest.mark.parametrize(
    ("document", "field", "words"),
    [
        ({"waves": [1, "120%"]}, "waves.1", 'such as "25%"'),
        ({"waves": [True, "100%"]}, "waves.0", "a number of servers"),
        ({"waves": ["50%", "25%", "100%"]}, "waves", "so they grow"),
        ({"waves": [1, "25%"]}, "waves", 'end with "100%"'),
        ({"waves": []}, "waves", "at least 1 item"),
        ({"bake": 1}, "bake", "no such setting"),
        ({"parallel": 0}, "parallel", "greater than or equal to 1"),
        ({"progress_deadline_s": 600.5}, "progress_deadline_s", "valid integer"),
        ({"standby_window_s": 10**9}, "standby_window_s", "less than or equal to 2592000"),
        ({"approval": "me"}, "approval", "'none' or 'another'"),
        ({"freeze": [{"cron": "0 25 * * *", "duration_s": 60}]}, "freeze.0.cron", "Bad hour"),
        ({"freeze": [{"cron": "0 1 * * *", "duration_s": 60, "zone": "Mars"}]}, "freeze.0.zone", "Europe/Berlin"),
        ({"freeze": [{"cron": "0 * * * *", "duration_s": 3_600}]}, "freeze.0", "it never ends"),
        ({"freeze": [{"cron": "0 0 31 2 *", "duration_s": 60}]}, "freeze.0.cron", "Bad day-of-month"),
        ({"gates": [P99]}, "policy", "set bake_s or final_bake_s"),
        ({"bake_s": 60, "gates": [P99, P99]}, "policy", "different names"),
        ({"bake_s": 60, "gates": [{"name": "x", "signal": "beauty", "limit": 1}]}, "gates.0", "'beauty'"),
        ({"bake_s": 60, "gates": [{"name": "x", "signal": "error_ratio"}]}, "gates.0", "needs its limit"),
        ({"bake_s": 60, "gates": [{"name": "x", "signal": "pending", "against": "objective"}]}, "gates.0", "promise"),
        ({"bake_s": 60, "gates": [{**P99, "limit": float("nan")}]}, "gates.0.limit", "finite"),
    ],
)
def test_a_fault_is_told_with_its_field_and_what_is_right(document: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(PolicyInvalid) as refused:
        Policy.parse(document)

    assert refused.value.facts["field"] == field
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("servers", "sizes"), [(1, (1,)), (2, (1, 1)), (3, (1, 2)), (8, (1, 1, 6)), (1_000, (1, 249, 750))]
)
def test_waves_are_cumulative_and_empty_ones_are_left_out(servers: int, sizes: tuple[int, ...]) -> None:
    assert Policy.parse({"waves": [1, "25%", "100%"]}).wave_sizes(servers) == sizes


shares = st.lists(st.integers(1, 99), unique=True).map(lambda found: [f"{one}%" for one in sorted(found)])
counts = st.lists(st.integers(1, 2_000), unique=True).map(sorted)


@given(counts=counts, shares=shares, servers=st.integers(0, 3_000))
def test_every_server_is_in_exactly_one_wave(counts: list[int], shares: list[str], servers: int) -> None:
    sizes = Policy.parse({"waves": [*counts[:20], *shares[:20], "100%"]}).wave_sizes(servers)

    assert sum(sizes) == servers
    assert all(size > 0 for size in sizes)


def test_a_document_read_back_is_the_same_policy() -> None:
    policy = Policy.parse({"waves": [1, "100%"], "bake_s": 60, "gates": [P99], "after": {"environment": "staging"}})

    assert Policy.parse(policy.document()) == policy


def test_a_policy_kept_by_another_release_is_still_read() -> None:
    assert Policy.kept({"standby_window_s": 60, "from_the_future": 1}).standby_window_s == 60


def test_a_freeze_is_over_when_its_time_in_its_zone_has_passed() -> None:
    friday = {"cron": "0 18 * * 5", "duration_s": 60 * 3_600, "zone": "Europe/Berlin"}

    opens = Policy.parse({"freeze": [friday]}).frozen_until(NOON)

    assert opens == datetime(2026, 11, 30, 5, tzinfo=UTC)
    assert Policy.parse({"freeze": [friday]}).frozen_until(datetime(2026, 11, 30, 5, tzinfo=UTC)) is None


def test_freezes_that_touch_are_one() -> None:
    windows = [{"cron": "0 11 * * *", "duration_s": 7_200}, {"cron": "0 13 * * *", "duration_s": 3_600}]

    assert Policy.parse({"freeze": windows}).frozen_until(NOON) == NOON + timedelta(hours=2)


@settings(deadline=None)
@given(hours=st.integers(0, 200))
def test_nothing_is_frozen_when_a_freeze_opens(hours: int) -> None:
    policy = Policy.parse({"freeze": [{"cron": "30 */5 * * *", "duration_s": 5_400, "zone": "Asia/Kolkata"}]})

    opens = policy.frozen_until(NOON + timedelta(hours=hours)) or NOON

    assert policy.frozen_until(opens + timedelta(seconds=1)) is None or opens == NOON


def test_a_freeze_once_in_four_years_is_read_without_counting_through_centuries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = 0
    counted = CronSim.__next__

    def count(self: CronSim) -> datetime:
        nonlocal steps
        steps += 1
        return counted(self)

    monkeypatch.setattr(CronSim, "__next__", count)

    Policy.parse({"freeze": [{"cron": "0 0 29 2 *", "duration_s": 60}]})

    assert steps == 2
