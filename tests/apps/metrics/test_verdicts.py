"""How a look at a gate is judged: no data is never a pass."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.metrics.gates import Against, Gate
from apps.metrics.verdicts import Judged, Look, Measured, Standing, judge, standing

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
P99 = Gate(name="p99", signal="latency_quantile", limit=60)
ERRORS = Gate(name="errors", signal="error_ratio", limit=0.01)
GOOD = Measured(value=41.0, samples=800.0)


def judged(gate: Gate, found: Measured, objective: float | None = None, *, is_replacing: bool = True) -> Judged:
    return judge(gate, found, objective=objective, is_replacing=is_replacing)


@pytest.mark.parametrize(("value", "verdict"), [(41.0, "pass"), (60.0, "pass"), (60.1, "fail")])
def test_a_value_is_held_against_the_limit(value: float, verdict: str) -> None:
    found = judged(P99, replace(GOOD, value=value))

    assert (found.verdict, found.threshold) == (verdict, 60.0)


def test_at_least_is_the_other_way_round() -> None:
    gate = Gate(name="batch", signal="batch_size", at="least", limit=2)

    assert judged(gate, replace(GOOD, value=1.5)).verdict == "fail"
    assert judged(gate, replace(GOOD, value=2.5)).verdict == "pass"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Measured(), "no data"),
        (Measured(value=0.0, samples=0.0), "0 requests, 20 are needed"),
        (Measured(value=1 / 3, samples=3.0), "3 requests, 20 are needed"),
        (Measured(value=None, samples=800.0), "no value"),
        (Measured(value=nan, samples=800.0), "no value"),
        (Measured(value=inf, samples=800.0), "no value"),
        (Measured(value=41.0, samples=nan), "are needed"),
        (replace(GOOD, unscraped=("prod-2",)), "prod-2 was not scraped: down is not the same as no errors"),
    ],
)
def test_too_little_is_inconclusive_and_says_why(found: Measured, words: str) -> None:
    for gate in (P99, ERRORS):
        told = judged(gate, found)

        assert told.verdict == "inconclusive"
        assert words in told.message


def test_what_could_not_be_asked_is_an_error() -> None:
    assert judged(P99, Measured(error="connection refused")).verdict == "error"


def test_an_objective_is_the_models_own_promise() -> None:
    gate = Gate(name="p99", signal="latency_quantile", against=Against.OBJECTIVE, limit=0.8)

    found = judged(gate, GOOD, objective=50.0)

    assert (found.verdict, found.threshold) == ("fail", 40.0)
    assert judged(gate, GOOD, objective=None).verdict == "does_not_apply"


RELATIVE = Gate(name="p99", signal="latency_quantile", against=Against.REPLACED, limit=1.2)


@pytest.mark.parametrize(
    ("baseline", "samples", "verdict"),
    [
        (35.0, 500.0, "pass"),
        (34.0, 500.0, "fail"),
        (None, None, "inconclusive"),
        (35.0, 3.0, "inconclusive"),
        (35.0, None, "inconclusive"),
        (nan, 500.0, "inconclusive"),
        (0.0, 500.0, "inconclusive"),
    ],
)
def test_a_factor_of_the_old_version_needs_the_old_versions_data(
    baseline: float | None, samples: float | None, verdict: str
) -> None:
    assert judged(RELATIVE, replace(GOOD, baseline=baseline, baseline_samples=samples)).verdict == verdict


def test_a_first_version_replaces_nothing() -> None:
    assert judged(RELATIVE, GOOD, is_replacing=False).verdict == "does_not_apply"


def test_errors_that_the_server_counts_as_successes_fail_the_error_ratio() -> None:
    found = Measured(value=0.0, samples=800.0, probes=6, failed_probes=6, probe_message="no luck")

    told = judged(ERRORS, found)

    assert told.verdict == "fail"
    assert "6 of 6 of Conch's own requests failed" in told.message
    assert "no luck" in told.message
    assert "counts an answer that carries an error as a success" in told.message


def test_they_fail_it_even_where_prometheus_does_not_answer() -> None:
    assert judged(ERRORS, Measured(error="refused", probes=6, failed_probes=6)).verdict == "fail"


def test_one_failed_request_of_our_own_can_have_many_causes() -> None:
    assert judged(ERRORS, Measured(value=0.0, samples=800.0, probes=6, failed_probes=1)).verdict == "pass"


numbers = st.none() | st.floats(allow_nan=True, allow_infinity=True)
measured = st.builds(
    Measured,
    value=numbers,
    samples=numbers,
    baseline=numbers,
    baseline_samples=numbers,
    unscraped=st.sampled_from([(), ("prod-1",)]),
    error=st.sampled_from(["", "refused"]),
)


@given(found=measured, gate=st.sampled_from([P99, ERRORS, RELATIVE]))
def test_a_pass_always_rests_on_enough_requests_and_a_number(found: Measured, gate: Gate) -> None:
    told = judged(gate, found)

    if_passed = told.verdict != "pass" or (
        found.samples is not None
        and found.samples >= gate.minimum_samples
        and found.value is not None
        and told.threshold is not None
        and found.value <= told.threshold
        and not found.error
        and not found.unscraped
    )
    assert if_passed


def looks(*verdicts: str) -> list[Look]:
    """One every ten seconds, the last one now."""
    return [
        Look(NOW - timedelta(seconds=10 * age), verdict)
        for age, verdict in zip(range(len(verdicts) - 1, -1, -1), verdicts, strict=True)
    ]


@pytest.mark.parametrize(
    ("verdicts", "comes_to"),
    [
        ((), "open"),
        (("pass",), "passed"),
        (("inconclusive", "pass"), "passed"),
        (("pass", "inconclusive"), "unclear"),
        (("fail", "pass"), "passed"),
        (("pass", "fail"), "open"),
        (("fail", "pass", "fail"), "failed"),
        (("pass", "error"), "open"),
        (("error", "error", "error"), "unclear"),
        (("error", "error", "pass", "error"), "open"),
        (("does_not_apply",), "passed"),
    ],
)
def test_what_a_waves_looks_come_to(verdicts: tuple[str, ...], comes_to: str) -> None:
    gate = Gate(name="p99", signal="latency_quantile", limit=60, failure_limit=2, error_limit=3)

    assert standing(gate, looks(*verdicts), since=NOW) == comes_to


def test_the_last_word_is_spoken_after_the_bake() -> None:
    assert standing(P99, looks("pass", "pass"), since=NOW + timedelta(seconds=1)) == Standing.OPEN


def test_a_failure_counts_already_before_the_bake_is_over() -> None:
    assert standing(P99, looks("fail"), since=NOW + timedelta(hours=1)) == Standing.FAILED


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"signal": "latency_quantile", "limit": 60}, "p99 at most 60 ms over 60 s"),
        ({"signal": "latency_quantile", "against": "objective"}, "p99 at most its objective over 60 s"),
        ({"signal": "error_ratio", "limit": 0.01}, "error ratio at most 1 % over 60 s"),
        (
            {"signal": "error_ratio", "against": "replaced", "limit": 2},
            "error ratio at most 2 x the old version's over 60 s",
        ),
    ],
)
def test_a_gate_is_a_sentence(fields: dict[str, Any], sentence: str) -> None:
    assert Gate.model_validate({"name": "one", **fields}).sentence == sentence
