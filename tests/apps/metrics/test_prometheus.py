"""The door to Prometheus tells a value, no value and every kind of failure apart, over real HTTP."""

import pickle
import time
from collections.abc import Iterator

import pytest

from apps.metrics.errors import (
    PrometheusFailed,
    PrometheusRefusedQuery,
    PrometheusTimeout,
    PrometheusUnreachable,
    PrometheusUnwell,
    QueryTooSlow,
)
from apps.metrics.prometheus import MOST_BYTES, Prometheus, Reply
from apps.metrics.windows import Window
from demo.parts.ports import free_port
from tests.apps.metrics.doubles import ScriptedPrometheus, forgetful_prometheus, matrix, scripted_prometheus

WINDOW = Window(start_s=1_000, end_s=1_060, step_s=15)


@pytest.fixture
def double() -> Iterator[ScriptedPrometheus]:
    with scripted_prometheus() as running:
        yield running


def ask(double: ScriptedPrometheus, promql: str = "up", window: Window = WINDOW) -> Reply:
    return Prometheus(double.url, read_timeout_s=1).over(promql, window)


def test_values_stand_on_the_grid_and_what_is_missing_is_a_gap(double: ScriptedPrometheus) -> None:
    double.gives(({"server": "a"}, [(1_000, "1"), (1_030, "2.5"), (1_060, "3")]))

    reply = ask(double)

    assert reply.series[0].labels == {"server": "a"}
    assert reply.series[0].values == (1.0, None, 2.5, None, 3.0)


def test_nan_and_infinities_are_gaps_and_the_series_stays(double: ScriptedPrometheus) -> None:
    double.gives(({}, [(1_000, "NaN"), (1_015, "+Inf"), (1_030, "-Inf"), (1_045, "Nan")]))

    assert ask(double).series[0].values == (None, None, None, None, None)


def test_no_data_is_an_answer_without_series(double: ScriptedPrometheus) -> None:
    double.gives()

    assert ask(double).series == ()


def test_warnings_are_kept(double: ScriptedPrometheus) -> None:
    double.says(200, {**matrix(({}, [(1_000, "1")])), "warnings": ["remote read: one store is down"]})

    assert ask(double).warnings == ("remote read: one store is down",)


def test_times_go_out_as_utc_seconds_with_step_and_deadline(double: ScriptedPrometheus) -> None:
    double.gives()

    ask(double)

    sent = double.asked[0]
    assert (sent.method, sent.path) == ("GET", "/api/v1/query_range")
    assert sent.parameters == {"query": "up", "start": "1000", "end": "1060", "step": "15", "timeout": "0.9"}


def test_a_long_query_is_posted_in_the_body(double: ScriptedPrometheus) -> None:
    double.gives()
    promql = " or ".join(['up{server="a-rather-long-name"}'] * 100)

    ask(double, promql)

    assert double.asked[0].method == "POST"
    assert double.asked[0].in_body["query"] == promql
    assert double.asked[0].in_address == {}


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (400, "bad_data", 'parse error: unexpected "}"'),
        (422, "execution", "multiple matches for labels"),
        (200, "bad_data", "an error that calls itself 200"),
    ],
)
def test_a_refused_query_tells_prometheus_own_words(
    double: ScriptedPrometheus, status: int, kind: str, error: str
) -> None:
    double.says(status, {"status": "error", "errorType": kind, "error": error})

    with pytest.raises(PrometheusRefusedQuery, match="Prometheus refused the query") as caught:
        ask(double)

    assert caught.value.facts["reason"] == error
    assert not caught.value.retryable


def test_a_refusal_is_not_asked_again(double: ScriptedPrometheus) -> None:
    double.says(400, {"status": "error", "errorType": "bad_data", "error": "no"})

    with pytest.raises(PrometheusRefusedQuery):
        ask(double)

    assert len(double.asked) == 1


def test_busy_once_is_asked_again(double: ScriptedPrometheus) -> None:
    double.says(503, b"Service Unavailable")
    double.gives(({}, [(1_000, "7")]))

    assert ask(double).series[0].values[0] == 7.0


def test_a_kept_connection_that_is_closed_is_opened_again() -> None:
    with forgetful_prometheus() as double:
        double.gives(({}, [(1_000, "7")]))
        client = Prometheus(double.url, read_timeout_s=1)

        replies = [client.over("up", WINDOW) for _ in range(2)]

    assert [reply.series[0].values[0] for reply in replies] == [7.0, 7.0]


def test_busy_twice_is_unwell(double: ScriptedPrometheus) -> None:
    double.says(503, b"Service Unavailable")

    with pytest.raises(PrometheusUnwell, match="Prometheus answered 503") as caught:
        ask(double)

    assert caught.value.retryable
    assert len(double.asked) == 2


def test_a_query_prometheus_gives_up_on_is_too_slow_and_not_asked_again(double: ScriptedPrometheus) -> None:
    double.says(503, {"status": "error", "errorType": "timeout", "error": "query timed out in expression evaluation"})

    with pytest.raises(QueryTooSlow, match="query timed out"):
        ask(double)

    assert len(double.asked) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"<html>a proxy's page</html>",
        b'{"status": "success"}',
        b"[]",
        b'{"status": "success", "data": {"resultType": "matrix", "result": [1, 2]}}',
        b'{"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {}, "values": [["x", "y"]]}]}}',
        b'{"status": "success", "data": {"result": [{"metric": {}, "values": [[1e400, "1"]]}]}}',
        b'{"status": "success", "data": {"result": [{"metric": {"a": 1}, "values": []}]}}',
        b'{"status": "success", "data": {"result": [{"metric": {"a": "\\ud800"}, "values": []}]}}',
        b"[" * 100_000,
    ],
)
def test_an_answer_in_another_format_is_unwell(double: ScriptedPrometheus, body: bytes) -> None:
    double.says(200, body)

    with pytest.raises(PrometheusUnwell, match="not in its own format"):
        ask(double)


@pytest.mark.parametrize("kind", [[], {}, 5])
def test_a_refusal_of_an_unknown_kind_is_one(double: ScriptedPrometheus, kind: object) -> None:
    double.says(400, {"status": "error", "errorType": kind, "error": "no"})

    with pytest.raises(PrometheusRefusedQuery, match="no"):
        ask(double)


@pytest.mark.parametrize("warnings", [5, {"a": 1}, "words"])
def test_warnings_that_are_no_list_are_none(double: ScriptedPrometheus, warnings: object) -> None:
    double.says(200, {**matrix(({}, [(1_000, "1")])), "warnings": warnings})

    assert ask(double).warnings == ()


def test_of_very_many_warnings_the_first_are_kept(double: ScriptedPrometheus) -> None:
    double.says(200, {**matrix(({}, [(1_000, "1")])), "warnings": ["one store is down"] * 100_000})

    assert len(ask(double).warnings) == 10


def test_an_answer_that_drips_in_is_not_waited_for(double: ScriptedPrometheus) -> None:
    double.gives(({}, [(1_000, "1")]))
    double.drips_every_s = 0.05

    began = time.monotonic()
    with pytest.raises(PrometheusTimeout, match="Prometheus did not answer in time"):
        Prometheus(double.url, body_timeout_s=0.3).over("up", WINDOW)

    assert time.monotonic() - began < 1


def test_an_answer_without_end_is_not_read_on(double: ScriptedPrometheus) -> None:
    double.says(200, b" " * (MOST_BYTES + 1))

    with pytest.raises(PrometheusUnwell, match="Prometheus answered with more than"):
        Prometheus(double.url, body_timeout_s=30).over("up", WINDOW)


def test_a_server_error_in_the_middle_of_a_page_is_unwell(double: ScriptedPrometheus) -> None:
    double.says(500, b"internal server error")

    with pytest.raises(PrometheusUnwell, match="Prometheus answered 500"):
        ask(double)


def test_nobody_listening_is_unreachable_in_the_systems_words() -> None:
    with pytest.raises(PrometheusUnreachable, match="Prometheus did not answer: connection refused"):
        Prometheus(f"http://127.0.0.1:{free_port()}").over("up", WINDOW)


def test_a_name_nobody_has_is_unreachable() -> None:
    with pytest.raises(PrometheusUnreachable, match="Prometheus did not answer: "):
        Prometheus("http://prometheus.invalid:9090").over("up", WINDOW)


def test_an_address_that_leads_in_circles_is_no_answer(double: ScriptedPrometheus) -> None:
    double.leads_to = double.url

    with pytest.raises(PrometheusUnwell, match="Prometheus gave no answer that can be read"):
        ask(double)


def test_a_hung_prometheus_is_a_timeout(double: ScriptedPrometheus) -> None:
    double.hangs()

    with pytest.raises(PrometheusTimeout, match="Prometheus did not answer in time"):
        Prometheus(double.url, read_timeout_s=0.3).over("up", WINDOW)


def test_more_points_than_prometheus_gives_are_not_asked_for(double: ScriptedPrometheus) -> None:
    window = Window(start_s=0, end_s=11_000, step_s=1)

    with pytest.raises(PrometheusRefusedQuery, match="11,001 points are more than Prometheus gives"):
        ask(double, window=window)

    assert double.asked == []


def test_hostile_words_are_made_printable(double: ScriptedPrometheus) -> None:
    double.says(400, {"status": "error", "errorType": "bad_data", "error": "\x1b[31mred\x00" + "x" * 10_000})

    with pytest.raises(PrometheusRefusedQuery) as caught:
        ask(double)

    assert "\x1b" not in caught.value.message
    assert len(caught.value.message) < 500


def test_a_reply_can_be_kept_in_a_cache(double: ScriptedPrometheus) -> None:
    double.gives(({"server": "a"}, [(1_000, "1")]))

    reply = ask(double)

    assert pickle.loads(pickle.dumps(reply)) == reply


@pytest.mark.parametrize(
    "kind", [PrometheusUnreachable, PrometheusTimeout, PrometheusUnwell, PrometheusRefusedQuery, QueryTooSlow]
)
def test_every_failure_has_its_own_code_and_is_one_of_a_kind(kind: type[PrometheusFailed]) -> None:
    assert issubclass(kind, PrometheusFailed)
    assert kind.code != PrometheusFailed.code
    assert kind.http_status in {502, 503, 504}
