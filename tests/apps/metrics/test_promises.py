"""Promises as budgets: the arithmetic, and what a real Prometheus with a known past makes of them."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from pytest_django import Settings

from apps.console.shown.insight import promise
from apps.metrics.budgets import Budget, Spent, worst
from apps.metrics.counted import FAILURES, REQUESTS
from apps.metrics.diagnosis.collecting import Known, collect
from apps.metrics.numbers import numbers
from apps.metrics.promises import budgets, untold
from apps.registry.models import Model
from demo.parts.ports import free_port
from tests.apps.metrics.doubles import Asked, ScriptedPrometheus, matrix


def budget(share: float | None, *, recent: float | None = None, allowed: float = 0.01) -> Budget:
    return Budget("m", "prod", "errors", allowed, allowed, Spent(share, recent), 2_592_000)


def test_half_of_what_is_allowed_leaves_half_of_the_budget() -> None:
    assert budget(0.005).left == 0.5
    assert budget(0.02).is_broken
    assert budget(0.005, recent=0.1).burn == 10


def test_nobody_asked_is_no_kept_promise() -> None:
    untold = budget(None)

    assert (untold.left, untold.burn, untold.is_broken) == (None, None, False)
    assert promise(untold).left == "no requests"
    assert worst([untold]) is None


def test_a_promise_of_no_errors_at_all_is_broken_by_the_first() -> None:
    assert budget(0.0, allowed=0.0).left == 1
    assert budget(0.001, allowed=0.0).is_broken


def test_the_worst_budget_is_the_one_with_the_least_left() -> None:
    few = budget(0.009)

    assert worst([budget(0.001), few, budget(None)]) is few


@pytest.mark.live
@pytest.mark.django_db
def test_budgets_of_a_known_past(known_past: datetime) -> None:
    Model.objects.create(name="digits", slo_error_ratio=0.1, slo_p99_ms=50)

    found = {one.promise: one for one in budgets(["digits"], now=known_past).budgets}

    errors, latency = found["errors"], found["latency"]
    assert errors.spent.share == pytest.approx(2 / 34, rel=0.1)
    assert errors.left == pytest.approx(1 - 20 / 34, rel=0.1)
    assert latency.spent.share == 1.0
    assert latency.is_broken
    assert errors.known_s == pytest.approx(1_800, abs=3_600)
    assert promise(errors).remark.startswith("Prometheus knows only the last ")
    assert promise(errors).remark.endswith(" min")


@pytest.mark.parametrize(("known_s", "words"), [(None, "not known yet"), (9_000, "cannot be told: no server")])
def test_a_prometheus_that_has_only_begun_is_not_one_without_percentiles(known_s: float | None, words: str) -> None:
    assert untold(known_s).startswith(words)


@pytest.mark.live
@pytest.mark.django_db
def test_a_young_p99_burns_in_the_last_hour_by_what_its_day_has_spent(known_past: datetime) -> None:
    Model.objects.create(name="stuttering", slo_p99_ms=50)

    (found,) = budgets(["stuttering"], now=known_past).budgets

    assert found.spent.share == pytest.approx(0.4, abs=0.05)
    assert found.spent.recent_share == found.spent.share
    assert promise(found).tone == "bad"


@pytest.mark.parametrize(
    ("share", "left", "bad"),
    [
        (0.0, "100%", "0.000% failed in 30 d"),
        (0.000004, "> 99%", "< 0.001% failed in 30 d"),
        (0.0005, "95%", "0.050% failed in 30 d"),
    ],
)
def test_what_little_is_spent_is_not_shown_as_nothing(share: float, left: str, bad: str) -> None:
    shown = promise(budget(share))

    assert (shown.left, shown.bad) == (left, bad)


def test_a_promise_that_cannot_be_told_is_not_one_without_requests() -> None:
    shown = promise(Budget("m", "prod", "latency", 50, 0.01, Spent(None, 0), 86_400, remark="cannot be told yet"))

    assert (shown.left, shown.remark) == ("not known", "cannot be told yet")


@pytest.mark.live
@pytest.mark.django_db
def test_without_percentiles_a_p99_cannot_be_told(known_past: datetime) -> None:
    Model.objects.create(name="plain", slo_p99_ms=50)

    (found,) = budgets(["plain"], now=known_past).budgets

    assert found.left is None
    assert found.remark.startswith("cannot be told: no server gives percentiles")


def recorded(asked: Asked) -> dict[str, Any]:
    """Of a Prometheus whose rules have counted for two days: 1 of 200 failed, 1 of 40 in the last hour."""
    query, end_s = asked.parameters["query"], float(asked.parameters["end"])
    found = {
        f"{REQUESTS}{{}}[2592000s]": "80000",
        f"{FAILURES}{{}}[2592000s]": "400",
        f"{REQUESTS}{{}}[3600s]": "4000",
        f"{FAILURES}{{}}[3600s]": "100",
    }
    values = [value for part, value in found.items() if part in query and "count_over" not in query]
    values += ["172800"] if "count_over_time" in query else []
    return matrix(*(({"environment": "prod", "model": "digits"}, [(end_s, value)]) for value in values))


@pytest.mark.django_db
def test_what_the_rules_counted_is_asked_not_a_month_of_raw_counters(scripted: ScriptedPrometheus) -> None:
    scripted.answer = recorded
    Model.objects.create(name="digits", slo_error_ratio=0.01)

    (found,) = budgets(["digits"], now=datetime.fromisoformat("2026-01-01T00:00:00+00:00")).budgets

    assert (found.spent.share, found.spent.recent_share, found.requests) == (0.005, 0.025, 80_000)
    assert promise(found).remark == "Prometheus knows only the last 2 d"
    assert not [one for one in scripted.asked if "nv_inference" in one.parameters["query"]]


@pytest.mark.django_db
def test_a_fleets_p99s_are_one_question_however_many_models_and_limits(scripted: ScriptedPrometheus) -> None:
    scripted.answer = lambda _: matrix()
    now = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    Model.objects.create(name="one", slo_p99_ms=50)
    numbers(["one"], range_s=900, now=now)
    before = len(scripted.asked)
    for number in range(20):
        Model.objects.create(name=f"m{number}", slo_p99_ms=50 + number % 4)

    numbers(["one", *(f"m{number}" for number in range(20))], range_s=900, now=now + timedelta(hours=1))

    asked = [one.parameters["query"] for one in scripted.asked[before:]]
    assert len(asked) == before
    assert sorted(query.count("> bool 50)") for query in asked if "p99_worst" in query) == [1, 1]


@pytest.mark.live
@pytest.mark.django_db
def test_the_least_that_is_left_is_the_p99s_where_a_rule_keeps_it(known_past: datetime) -> None:
    Model.objects.create(name="paced", slo_p99_ms=50)
    Model.objects.create(name="digits", slo_p99_ms=50)

    paced, digits = numbers(["paced", "digits"], range_s=900, now=known_past).models

    assert paced.budget_of == "latency"
    assert paced.budget_left == pytest.approx(1 - 0.5 / 0.01, abs=12)
    assert (digits.budget_of, digits.budget_left) == ("", None)


@pytest.mark.django_db
def test_budgets_that_prometheus_gives_up_on_are_not_promises_nobody_made(scripted: ScriptedPrometheus) -> None:
    scripted.gives_up_on = lambda asked: "2592000s" in asked.parameters["query"]
    scripted.answer = lambda _: matrix()
    Model.objects.create(name="digits", slo_error_ratio=0.01)

    found = numbers(["digits"], range_s=900, now=datetime.fromisoformat("2026-01-01T00:00:00+00:00"))

    assert [one.budget_left for one in found.models] == [None]
    assert found.budget_problem == "Prometheus gave up on the query: query timed out in expression evaluation"


@pytest.mark.django_db
def test_prometheus_down_is_said(settings: Settings) -> None:
    settings.CONCH = {**settings.CONCH, "prometheus_url": f"http://127.0.0.1:{free_port()}"}
    Model.objects.create(name="digits", slo_error_ratio=0.1)

    found = budgets(["digits"], now=datetime.fromisoformat("2026-01-01T00:00:00+00:00"))

    assert (found.budgets, found.problem) == ((), "Prometheus did not answer: connection refused")


@pytest.mark.live
@pytest.mark.usefixtures("db")
def test_facts_of_a_known_past(known_past: datetime) -> None:
    """prod-2 takes twice prod-1's time; nothing is known of cold starts and unloads."""
    told = collect({"digits": Known(max_batch_size=5)}, environment="prod", now=known_past)["digits"]

    facts = {measure: value for measure, value in told.facts.items() if value is not None}
    assert told.slowest == "prod-2"
    assert facts["slowest_ratio"] == pytest.approx(2, rel=0.05)
    assert facts["latency_ms"] == pytest.approx(5, rel=0.05)
    assert facts["queue_ms"] == pytest.approx(0.5, rel=0.05)
    assert facts["batch_fill"] == pytest.approx(0.5, rel=0.05)
    assert (facts["cpu_use"], facts["gpu_use"]) == (0.75, 0.5)
    assert {"cold_ratio", "kept_bytes", "knee_cost"}.isdisjoint(facts)
