"""How times, sizes, steps and foreign words are written."""

from datetime import UTC, datetime, timedelta

import pytest

from apps.common.text import as_size
from apps.console.shown.state import problem
from apps.console.shown.steps import said
from apps.console.shown.words import count, listed, span
from apps.console.templatetags.shown import code, duration, first_line, is_long, milliseconds, relative

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (3_599, "59 min"),
        (5_400, "1 h 30 min"),
        (90_000, "1 d 1 h"),
        (1e6, "11 d"),
    ],
)
def test_a_span_is_in_its_largest_unit(seconds: float, words: str) -> None:
    assert span(seconds) == words


def test_names_between_backticks_are_code_and_nothing_is_markup() -> None:
    assert code("leave it out in `skip`, not <b>`x`</b>") == (
        "leave it out in <code>skip</code>, not &lt;b&gt;<code>x</code>&lt;/b&gt;"
    )
    assert code("a lone ` stays, and `<i>` is escaped") == "a lone ` stays, and <code>&lt;i&gt;</code> is escaped"


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "now"), (61, "1 min ago"), (-90, "in 1 min"), (-0.5, "now")])
def test_a_moment_is_told_from_now(seconds: float, words: str) -> None:
    assert relative(NOW - timedelta(seconds=seconds), NOW) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(None, "–"), (0.04, "0.04 s"), (3.21, "3.2 s"), (125, "2 min 5 s"), (7_200, "2 h")]
)
def test_a_duration_keeps_what_matters(seconds: float | None, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(("size", "words"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 * 2**30, "5.0 GiB")])
def test_a_size_is_in_the_unit_that_fits(size: int, words: str) -> None:
    assert as_size(size) == words


def test_microseconds_are_shown_as_milliseconds() -> None:
    assert (milliseconds(2_345), milliseconds(None)) == ("2.35", "–")


def test_one_is_not_many() -> None:
    assert (count(1, "server"), count(2, "server"), count(1_200, "server")) == (
        "1 server",
        "2 servers",
        "1,200 servers",
    )


def test_a_long_list_says_how_many_more() -> None:
    assert listed(["a", "b", "c"], limit=2) == "a, b and 1 more"


def test_a_step_tells_its_facts_in_words() -> None:
    detail = {"golden": 5, "latencies_us": [52_000, 3_000], "warmup": [{"x": 1}], "remark": "zeros are refused"}

    assert said(detail) == "5 golden answers right; warm: first 52 ms, last 3 ms of 2; zeros are refused"


def test_a_steps_facts_are_told_with_their_unit_and_one_is_not_many() -> None:
    assert said({"warm_up_requests": 1}) == "1 warm-up request inside the load"
    assert said({"warm_up_requests": 2}) == "2 warm-up requests inside the load"
    assert said({"latency_us": 4_925}) == "answered in 4.92 ms"
    assert said({"memory": "unknown: nobody measured"}) == "memory unknown: nobody measured"


def test_a_fact_nobody_named_is_told_all_the_same() -> None:
    assert said({"was_there": False, "odd_fact": [1, 2], "deep": {"a": True}}) == "odd fact 1, 2; deep a yes"


def test_foreign_words_are_cut_and_lose_their_escapes() -> None:
    text = "\x1b[31mred\x1b[0m " + "x" * 500 + "\nsecond line"

    shown = first_line(text)

    assert shown.startswith("red xxx")
    assert len(shown) == 160
    assert is_long(text)


def test_a_kept_error_gives_its_reason_only_where_it_adds_something() -> None:
    same = problem({"code": "x", "message": "no gpu", "reason": "no gpu"})
    more = problem({"code": "x", "message": "no gpu", "reason": "Traceback\nno gpu"})

    assert same is not None
    assert more is not None
    assert (same.reason, more.reason) == ("", "Traceback\nno gpu")


def test_no_error_is_none() -> None:
    assert problem({}) is None
