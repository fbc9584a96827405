"""The arithmetic behind the figures, on numbers worked out by hand."""

import pytest

from bench.figures import Figure, Request, Window, failed, in_flight, longest_ms, percentile, stall_ratio

TWENTY = [float(value) for value in range(20, 0, -1)]


@pytest.mark.parametrize(("share", "expected"), [(0.5, 10), (0.95, 19), (0.96, 20), (1.0, 20), (0.0, 1)])
def test_a_percentile_is_a_value_that_was_measured(share: float, expected: float) -> None:
    assert percentile(TWENTY, share) == expected


def test_a_percentile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


def test_a_request_that_spans_a_whole_window_is_in_flight_in_it() -> None:
    stalled = Request(sent_s=9.0, latency_ms=4_000, server=0)
    before, after = Request(sent_s=8.0, latency_ms=5, server=0), Request(sent_s=11.5, latency_ms=5, server=0)

    found = in_flight([before, stalled, after], Window(10, 11))

    assert found == [stalled]


def test_the_longest_request_of_a_window_nobody_asked_in_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        longest_ms([Request(sent_s=1, latency_ms=1, server=0)], Window(10, 11))


def test_the_stall_ratio_compares_medians_of_maxima() -> None:
    changing = [Window(0, 1), Window(10, 11), Window(20, 21)]
    quiet = [Window(5, 6), Window(15, 16), Window(25, 26)]
    latencies_ms = {0.5: 8, 0.6: 2, 10.5: 900, 20.5: 6, 5.5: 4, 15.5: 1, 25.5: 5}
    requests = [Request(sent_s=at, latency_ms=took, server=0) for at, took in latencies_ms.items()]

    ratio = stall_ratio(requests, changing=changing, quiet=quiet)

    assert ratio == 8 / 4


def test_a_request_that_failed_counts_once_however_many_windows_it_touches() -> None:
    requests = [
        Request(sent_s=0.9, latency_ms=300, server=0, error="gone"),
        Request(sent_s=0.9, latency_ms=300, server=0, version=1),
        Request(sent_s=7, latency_ms=1, server=0, error="gone"),
    ]

    count = failed(requests, [Window(0, 1), Window(1, 2)])

    assert count == 1


@pytest.mark.parametrize(("value", "holds"), [(149.9, True), (150, True), (150.1, False)])
def test_a_bar_holds_up_to_and_with_its_value(value: float, *, holds: bool) -> None:
    figure = Figure("hot_p50_ms", value, "ms", 150, {"poll mode": 4_900})

    assert figure.document() == {
        "name": "hot_p50_ms",
        "value": value,
        "unit": "ms",
        "beside": {"poll mode": 4_900},
        "bar": 150,
        "holds": holds,
    }
