"""Requests and failures of all models over 30 days, and their slow times: of what rules recorded, or else of counters.

A fleet's raw counters over 30 days are hundreds of millions of samples; the rules keep two small numbers per model
every five minutes (`compose/prometheus/rules.yml`). Where no rule is loaded the counters themselves are asked.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from apps.metrics.answers import Answers, Batch
from apps.metrics.budgets import HOUR_S, WINDOW_S
from apps.metrics.prometheus import Series
from apps.metrics.sources import queries
from apps.metrics.windows import Window
from apps.serving.matching import exactly, one_of
from apps.serving.signals import Query, Selection, Signal

WORST_P99_MS = "conch:latency_ms:p99_worst"
REQUESTS, FAILURES = "conch:requests:increase5m", "conch:failures:increase5m"
RECORDED_EVERY_S = 300
# How far apart p99 is looked at, over every span: a day looked at less often than its last hour would miss what that
# hour has seen, and say that nothing is spent while it burns.
LOOK_EVERY_S = 60
BY = ("environment", "model")

Key = tuple[str, str]
Values = Mapping[Key, float | None]


@dataclass(frozen=True, slots=True)
class Counted:
    """By environment and model: how many requests, which share failed over 30 days and in the last hour.

    A share is None where nobody asked. `known_s` is for how long the rules have counted; None when they do not.
    """

    requests: Values
    share: Values
    recent_share: Values
    known_s: float | None = None


def recorded_questions(environment: str) -> list[str]:
    """What the rules kept: requests and failures over 30 days and an hour, and how often they counted."""
    matchers = ",".join(exactly({"environment": environment}))
    sums = [
        f"sum by ({', '.join(BY)}) (sum_over_time({metric}{{{matchers}}}[{window_s}s]))"
        for window_s in (WINDOW_S, HOUR_S)
        for metric in (REQUESTS, FAILURES)
    ]
    return [*sums, f"max(count_over_time({REQUESTS}[{WINDOW_S}s])) * {RECORDED_EVERY_S}"]


def slow_question(limits: Mapping[str, float], *, environment: str, span_s: int) -> str:
    """One question for all models: the share of the time with traffic in which p99 was above each one's limit (in ms).

    Empty where nobody has a limit. A limit that models share is asked for once.
    """
    sharing: dict[float, list[str]] = {}
    for model, limit in sorted(limits.items()):
        sharing.setdefault(limit, []).append(model)
    asked = []
    for limit, models in sharing.items():
        matchers = ",".join([*exactly({"environment": environment}), *one_of("model", models)])
        asked.append(f"avg_over_time(({WORST_P99_MS}{{{matchers}}} > bool {limit:g})[{span_s}s:{LOOK_EVERY_S}s])")
    return " or ".join(asked)


def counted(batch: Batch, *, environment: str, at: Window, asked: Answers) -> Counted:
    """Of a batch in which the recorded questions are; PrometheusFailed."""
    *sums, known = (batch.over(promql, at).series for promql in recorded_questions(environment))
    requests, failures, recent, recent_failures = (keyed(series) for series in sums)
    if not requests:
        return _raw(environment, at=at, asked=asked)
    known_s = known[0].values[-1] if known else None
    return Counted(requests, _shares(failures, requests), _shares(recent_failures, recent), known_s)


def keyed(series: Iterable[Series]) -> dict[Key, float | None]:
    """The last value of each line, by environment and model."""
    return {(one.labels.get("environment", ""), one.labels.get("model", "")): one.values[-1] for one in series}


def _shares(failures: Values, requests: Values) -> dict[Key, float | None]:
    return {key: (failures.get(key) or 0.0) / asked if asked else None for key, asked in requests.items()}


def _raw(environment: str, *, at: Window, asked: Answers) -> Counted:
    wanted = ((Signal.ERROR_RATIO, WINDOW_S), (Signal.ERROR_RATIO, HOUR_S), (Signal.REQUEST_RATE, WINDOW_S))
    questions = [list(_promql(signal, environment, window_s)) for signal, window_s in wanted]
    batch = Batch(asked, ((promql, at) for every in questions for promql in every))
    share, recent, rates = (
        keyed(one for promql in every for one in batch.over(promql, at).series) for every in questions
    )
    return Counted({key: None if rate is None else rate * WINDOW_S for key, rate in rates.items()}, share, recent)


def _promql(signal: Signal, environment: str, window_s: int) -> Iterator[str]:
    selection = Selection(environment=environment, by=BY, window_s=window_s)
    yield from (query.promql for query in queries(signal, selection) if isinstance(query, Query))
