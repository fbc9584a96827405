"""Charts of a real Prometheus with a known past show the known values."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from apps.metrics import selectors
from apps.metrics.selectors import ChartAnswer

pytestmark = [pytest.mark.live, pytest.mark.django_db]
HALF = timedelta(seconds=900)


def line(answer: ChartAnswer, name: str) -> Sequence[float | None]:
    """The values of one line."""
    assert answer.figure is not None, answer.message
    found: dict[str, Any] = {trace["name"]: trace["y"] for trace in answer.figure["data"]}
    return list(found[name])


def names(answer: ChartAnswer) -> list[str]:
    assert answer.figure is not None, answer.message
    return [trace["name"] for trace in answer.figure["data"]]


def test_requests_are_summed_over_servers_after_each_ones_own_rate(known_past: datetime) -> None:
    answer = selectors.chart("requests", environment="prod", model="digits", range_s=600, now=known_past)

    assert (answer.state, names(answer)) == ("ok", ["v2"])
    assert set(line(answer, "v2")) == {32.0}


def test_a_counter_that_begins_again_makes_no_negative_rate(known_past: datetime) -> None:
    answer = selectors.chart("requests", server="prod-2", model="digits", range_s=1_500, now=known_past)

    values = [value for value in line(answer, "v2") if value is not None]

    assert min(values) > 0
    assert values[-1] == 20.0


def test_a_version_that_left_ends_there_though_its_failures_stay(known_past: datetime) -> None:
    answer = selectors.chart("requests", server="prod-1", model="digits", range_s=1_500, now=known_past)

    assert line(answer, "v1")[10] == 4.0
    assert line(answer, "v1")[-1] is None
    assert [latest.name for latest in answer.latest if latest.is_current] == ["v2"]


def test_the_shadow_is_in_no_chart(known_past: datetime) -> None:
    answer = selectors.chart("requests", server="prod-1", range_s=600, now=known_past)

    assert not any("shadow" in name for name in names(answer))
    assert "digits v2" in names(answer)


def test_percentiles_are_the_worst_servers_and_never_averaged(known_past: datetime) -> None:
    answer = selectors.chart("latency", environment="prod", model="digits", range_s=600, now=known_past - HALF)

    assert names(answer) == ["v2 p50", "v2 p99"]
    assert line(answer, "v2 p99")[-2] == 55.0
    assert line(answer, "v2 p50")[-2] == 7.0
    assert answer.message == "percentiles of the worst server, not averaged"


def test_quantiles_without_traffic_are_gaps(known_past: datetime) -> None:
    answer = selectors.chart("latency", environment="prod", model="digits", range_s=1_500, now=known_past)

    assert line(answer, "v2 p99")[-1] is None
    assert line(answer, "v2 p99")[10] == 55.0


def test_a_model_nobody_asked_says_so(known_past: datetime) -> None:
    answer = selectors.chart("latency", environment="prod", model="asleep", range_s=600, now=known_past)

    assert (answer.state, answer.figure) == ("empty", None)
    assert answer.message == "no requests in this time"


def test_without_summaries_the_mean_is_shown_and_said(known_past: datetime) -> None:
    answer = selectors.chart("latency", server="prod-1", model="plain", range_s=600, now=known_past)

    assert names(answer) == ["v1 mean"]
    assert set(line(answer, "v1 mean")) == {3.0}
    assert answer.message.startswith("no percentiles: summaries are off; --metrics-config summary_latencies=true")
    assert answer.message.endswith("; the mean is shown")


def test_failures_are_told_by_reason_and_reasons_that_never_occurred_are_left_out(known_past: datetime) -> None:
    answer = selectors.chart("errors", environment="prod", model="digits", range_s=600, now=known_past)

    assert names(answer) == ["v2 backend"]
    assert set(line(answer, "v2 backend")) == {2.0}


def test_a_version_without_failures_is_one_line_at_zero(known_past: datetime) -> None:
    answer = selectors.chart("errors", environment="prod", model="quiet", range_s=600, now=known_past)

    assert names(answer) == ["v1"]
    assert set(line(answer, "v1")) == {0.0}


def test_the_error_ratio_is_of_all_requests(known_past: datetime) -> None:
    answer = selectors.chart("error_ratio", server="prod-1", model="digits", range_s=600, now=known_past)

    assert set(line(answer, "v2")) == {16.6667}


def test_queue_and_compute_are_per_request(known_past: datetime) -> None:
    answer = selectors.chart("queue_compute", server="prod-1", model="digits", range_s=600, now=known_past)

    assert set(line(answer, "v2 compute")) == {2.4}
    assert set(line(answer, "v2 queue")) == {0.5}


def test_the_mean_batch_is_inferences_per_execution(known_past: datetime) -> None:
    answer = selectors.chart("batch_size", server="prod-1", model="digits", range_s=600, now=known_past)

    assert set(line(answer, "v2")) == {2.5}


def test_pending_is_summed_over_servers(known_past: datetime) -> None:
    answer = selectors.chart("pending", environment="prod", model="digits", range_s=600, now=known_past)

    assert set(line(answer, "v2")) == {7.0}


def test_use_is_told_per_server_in_percent(known_past: datetime) -> None:
    answer = selectors.chart("use", environment="prod", range_s=600, now=known_past)

    assert names(answer) == ["prod-2 GPU 2b9e11c4", "prod-1 CPU", "prod-2 CPU"]
    assert [latest.text for latest in answer.latest] == ["50.0", "25.0", "75.0"]


def test_a_server_without_a_gpu_says_so(known_past: datetime) -> None:
    answer = selectors.chart("memory", server="prod-1", range_s=600, now=known_past)

    assert answer.message == "no GPU metrics: no GPU here, or they are off (--allow-gpu-metrics=true turns them on)"
    assert (set(line(answer, "CPU")), set(line(answer, "CPU total"))) == ({2.0}, {24.0})


def test_a_name_with_quotes_and_braces_selects_itself_and_nothing_else(known_past: datetime) -> None:
    answer = selectors.chart("requests", server="prod-1", model='odd"} or up{x="', range_s=600, now=known_past)

    assert names(answer) == ["v1"]
    assert set(line(answer, "v1")) == {3.0}


def test_a_server_prometheus_does_not_know_is_said_to_be_unscraped(known_past: datetime) -> None:
    answer = selectors.chart("requests", server="prod-9", range_s=600, now=known_past)

    assert answer.state == "empty"
    assert answer.message.startswith("Prometheus does not scrape prod-9 yet")


def test_a_model_that_is_not_loaded_is_said_to_be_so(known_past: datetime) -> None:
    answer = selectors.chart("requests", environment="prod", model="bert", range_s=600, now=known_past)

    assert answer.message == "no series for bert in prod: it is not loaded there"
