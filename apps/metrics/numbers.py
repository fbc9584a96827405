"""The fleet's figures: for each model its requests, worst p99 and error ratio, now and over the last time.

Three questions for all models together, the same for everybody who looks: a page of a fleet costs no more than a row.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from apps.metrics.answers import Batch, answers
from apps.metrics.budgets import Budget, worst
from apps.metrics.errors import PrometheusFailed
from apps.metrics.prometheus import Series
from apps.metrics.promises import budgets
from apps.metrics.questions import scrape_interval_s
from apps.metrics.sources import queries
from apps.metrics.windows import Window, rate_window_s, window_for
from apps.serving.signals import Query, Selection, Signal

POINTS = 60
CURRENT_POINTS = 2
WORST = "0.99"
_SIGNALS = (Signal.REQUEST_RATE, Signal.LATENCY_QUANTILE, Signal.LATENCY_MEAN, Signal.ERROR_RATIO)


@dataclass(frozen=True, slots=True)
class Course:
    """A value over the window's points, oldest first; None where there is a gap, all of it when nothing is known."""

    values: tuple[float | None, ...] = ()

    @property
    def now(self) -> float | None:
        """The value about now; None when it ended earlier."""
        return next((value for value in reversed(self.values[-CURRENT_POINTS:]) if value is not None), None)


@dataclass(frozen=True, slots=True)
class Numbers:
    """One model's figures. `is_mean`: its servers give no percentiles, so latency is the mean.

    `budget_left` is what is left of the promise of which least is left, `budget_of` which: errors, or latency where a
    rule keeps its p99; None without a promise or without requests.
    """

    model: str
    requests: Course
    latency_ms: Course
    error_percent: Course
    is_mean: bool
    budget_left: float | None = None
    budget_of: str = ""


@dataclass(frozen=True, slots=True)
class FleetNumbers:
    """All models' figures; `problem` says why there are none, `budget_problem` why there are no budgets."""

    window: Window
    models: tuple[Numbers, ...]
    problem: str = ""
    budget_problem: str = ""


def numbers(names: Iterable[str], *, environment: str = "", range_s: int, now: datetime) -> FleetNumbers:
    """The figures of these models; PrometheusFailed becomes words."""
    window = window_for(range_s, now=now, scrape_interval_s=scrape_interval_s(), points=POINTS)
    wanted = list(names)
    try:
        found = _ask(environment, window)
    except PrometheusFailed as error:
        return FleetNumbers(window, (), error.message)
    kept = budgets(wanted, environment=environment, asks_servers=False, now=now)
    left = {name: worst([one for one in kept.budgets if one.model == name]) for name in wanted}
    return FleetNumbers(
        window,
        tuple(_with_budget(_numbers(name, found), one) for name, one in left.items()),
        budget_problem=kept.problem,
    )


def _with_budget(found: Numbers, one: Budget | None) -> Numbers:
    return replace(found, budget_left=one.left, budget_of=one.promise) if one else found


def _ask(environment: str, window: Window) -> Mapping[Signal, Mapping[str, Course]]:
    rate_s = rate_window_s(window, scrape_interval_s=scrape_interval_s())
    selection = Selection(environment=environment, window_s=rate_s, by=("model",))
    asked = {
        signal: [query.promql for query in queries(signal, selection) if isinstance(query, Query)]
        for signal in _SIGNALS
    }
    batch = Batch(answers(), ((promql, window) for every in asked.values() for promql in every))
    return {
        signal: _by_model([one for promql in every for one in batch.over(promql, window).series])
        for signal, every in asked.items()
    }


def _by_model(series: Sequence[Series]) -> Mapping[str, Course]:
    wanted = [one for one in series if one.labels.get("quantile", WORST) == WORST]
    return {one.labels.get("model", ""): Course(one.values) for one in wanted}


def _numbers(name: str, found: Mapping[Signal, Mapping[str, Course]]) -> Numbers:
    quantile = found[Signal.LATENCY_QUANTILE].get(name)
    mean = found[Signal.LATENCY_MEAN].get(name, Course())
    errors = found[Signal.ERROR_RATIO].get(name, Course())
    return Numbers(
        model=name,
        requests=found[Signal.REQUEST_RATE].get(name, Course()),
        latency_ms=mean if quantile is None else quantile,
        error_percent=Course(tuple(None if value is None else value * 100 for value in errors.values)),
        is_mean=quantile is None,
    )
