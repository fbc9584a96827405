"""How models keep their promises: budgets, read from Prometheus over 30 days (errors) and a day (latency)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from apps.metrics.answers import Batch, answers
from apps.metrics.budgets import DAY_S, HOUR_S, SLOW_SHARE, WINDOW_S, Budget, Spent
from apps.metrics.counted import BY, LOOK_EVERY_S, Key, Values, counted, keyed, recorded_questions, slow_question
from apps.metrics.errors import PrometheusFailed
from apps.metrics.questions import scrape_interval_s
from apps.metrics.sources import queries
from apps.metrics.windows import SCRAPES_PER_RATE, Window
from apps.registry import selectors as registry
from apps.serving.signals import Query, Selection, Signal

SLOT_S = 60
_NO_PERCENTILES = "cannot be told: no server gives percentiles (--metrics-config summary_latencies=true)"
_NOT_YET = "not known yet: the first figure comes some minutes after the first request"
# How long ago is looked for whether a server was known then, longest first. To ask when the first of all samples was
# would be to read each of them: minutes for twenty servers over 30 days.
_AGES_S = (*range(WINDOW_S, DAY_S - 1, -DAY_S), *range(23 * HOUR_S, 0, -HOUR_S), 900)
_KNOWN = " or ".join(f'max(up{{server!=""}} offset {age_s}s) * 0 + {age_s}' for age_s in _AGES_S)


@dataclass(frozen=True, slots=True)
class Budgets:
    """Every budget of the models asked for; `problem` says why there are none."""

    budgets: tuple[Budget, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Promise:
    model: str
    p99_ms: float | None
    error_ratio: float | None


def budgets(models: Iterable[str], *, environment: str = "", asks_servers: bool = True, now: datetime) -> Budgets:
    """The budgets of these models that promise something, wherever they are asked; PrometheusFailed becomes words.

    `asks_servers`: where no rule keeps a model's p99, its past is read from the servers' own, a question per model.
    """
    rows = registry.models().filter(name__in=list(models)).values_list("name", "slo_p99_ms", "slo_error_ratio")
    promised = [_Promise(*row) for row in rows]
    if not any(one.error_ratio is not None or one.p99_ms is not None for one in promised):
        return Budgets(())
    try:
        return Budgets(tuple(_read(promised, environment=environment, asks_servers=asks_servers, now=now)))
    except PrometheusFailed as error:
        return Budgets((), error.message)


def _read(promised: list[_Promise], *, environment: str, asks_servers: bool, now: datetime) -> Iterator[Budget]:
    end_s = int(now.timestamp()) // SLOT_S * SLOT_S
    limits = {one.model: one.p99_ms for one in promised if one.p99_ms is not None}
    asked = _Asked(Window(end_s, end_s, SLOT_S), environment, limits, asks_servers=asks_servers)
    known_s = asked.known_s()
    for one in promised:
        if one.error_ratio is not None:
            yield from asked.errors(one.model, one.error_ratio, known_s)
        if one.p99_ms is not None:
            yield from asked.latency(one.model, one.p99_ms, known_s)


class _Asked:
    """Prometheus's answers about all models together; each is asked alone only for a p99 that no rule keeps."""

    def __init__(self, at: Window, environment: str, limits: Mapping[str, float], *, asks_servers: bool) -> None:
        self._at, self._environment, self._asks_servers = at, environment, asks_servers
        slow = {span: slow_question(limits, environment=environment, span_s=span) for span in (DAY_S, HOUR_S)}
        asked = [_KNOWN, *recorded_questions(environment), *filter(None, slow.values())]
        self._batch = Batch(answers(), ((promql, at) for promql in asked))
        self._counted = counted(self._batch, environment=environment, at=at, asked=answers())
        self._slow: dict[int, Values] = {
            span: keyed(self._batch.over(promql, at).series) if promql else {} for span, promql in slow.items()
        }

    def known_s(self) -> float | None:
        """For how long Prometheus has known any server, to the day, or to the hour within the first."""
        found = self._batch.over(_KNOWN, self._at).series
        return found[0].values[-1] if found else None

    def errors(self, model: str, allowed: float, known_s: float | None) -> Iterator[Budget]:
        kept = self._counted
        known_s = known_s if kept.known_s is None else kept.known_s
        for key in _of(model, kept.share):
            spent = Spent(kept.share[key], kept.recent_share.get(key))
            yield Budget(model, key[0], "errors", allowed, allowed, spent, WINDOW_S, kept.requests.get(key), known_s)

    def latency(self, model: str, p99_ms: float, known_s: float | None) -> Iterator[Budget]:
        found = self._slow
        if self._asks_servers and not _of(model, found[DAY_S]):
            found = {span: self._slow_on_servers(model, p99_ms, span) for span in (DAY_S, HOUR_S)}
        for key in _of(model, found[DAY_S]) or _of(model, self._counted.requests):
            spent = Spent(found[DAY_S].get(key), found[HOUR_S].get(key))
            remark = "" if key in found[DAY_S] else untold(known_s)
            yield Budget(model, key[0], "latency", p99_ms, SLOW_SHARE, spent, DAY_S, known_s=known_s, remark=remark)

    def _slow_on_servers(self, model: str, p99_ms: float, span_s: int) -> Values:
        """The share of the time with traffic in which the worst server's p99 was above the promise."""
        selection = Selection(
            environment=self._environment, model=model, by=BY, window_s=SCRAPES_PER_RATE * scrape_interval_s()
        )
        found: dict[Key, float | None] = {}
        for query in queries(Signal.LATENCY_QUANTILE, selection):
            if isinstance(query, Query):
                # NaN is no traffic: it is not above 0, so it is in no share.
                worst = f"max by (environment, model) (({query.promql}) > 0 and on (quantile) {_QUANTILE})"
                promql = f"avg_over_time(({worst} > bool {p99_ms:g})[{span_s}s:{LOOK_EVERY_S}s])"
                found |= keyed(self._batch.over(promql, self._at).series)
        return found


_QUANTILE = 'label_replace(vector(1), "quantile", "0.99", "", "")'


def untold(known_s: float | None) -> str:
    """Why there is no figure of a p99: Prometheus is young, or has never had one."""
    return _NOT_YET if known_s is None else _NO_PERCENTILES


def _of(model: str, found: Values) -> list[Key]:
    return sorted(key for key in found if key[1] == model)
