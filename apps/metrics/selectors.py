"""How is it doing: charts, read from Prometheus, with what to know about them in words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.fleet import selectors as fleet
from apps.metrics import words
from apps.metrics.answers import Batch, answers
from apps.metrics.catalogue import CHARTS, Chart
from apps.metrics.errors import ChartUnknown, PrometheusFailed
from apps.metrics.figures import Line, figure, is_current
from apps.metrics.findings import Findings
from apps.metrics.labels import shown
from apps.metrics.limits import Limit
from apps.metrics.lines import busiest, versions_in
from apps.metrics.marks import Mark
from apps.metrics.own_devices import selections
from apps.metrics.questions import Question, scrape_interval_s, window_of
from apps.metrics.windows import USUAL_S, Window
from apps.registry import selectors as registry
from apps.serving.protocol import Readiness


@dataclass(frozen=True, slots=True)
class Latest:
    """A line's last value, as a number in the chart's unit and as people read it."""

    name: str
    value: float
    text: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class ChartAnswer:
    """A chart as it is now. `state` is ok, empty or error; `message` says why, or what to know about the lines."""

    chart: Chart
    state: str
    message: str
    figure: dict[str, Any] | None
    queries: tuple[str, ...]
    updated: datetime
    window: Window
    latest: tuple[Latest, ...] = ()
    lines: tuple[Line, ...] = ()


def get_chart(key: str) -> Chart:
    """The chart of that key, or ChartUnknown."""
    if key not in CHARTS:
        raise ChartUnknown(f"there is no chart {key[:140]!r}; there are: {', '.join(CHARTS)}")
    return CHARTS[key]


def chart(
    key: str,
    *,
    environment: str = "",
    server: str = "",
    model: str = "",
    range_s: int = USUAL_S,
    now: datetime,
    marks: Iterable[Mark] = (),
    slo: float | None = None,
) -> ChartAnswer:
    """The chart over the last `range_s`; whatever Prometheus does, there is an answer within a few seconds.

    `slo` is in the signal's own unit (ms, ratio); without it the model's own promise is drawn.
    """
    question = Question(environment=environment, server=server, model=model, range_s=range_s)
    limits = None if slo is None else {key: (Limit("SLO", slo),)}
    return board([get_chart(key)], question, now=now, marks=marks, limits=limits)[0]


def board(
    charts: Iterable[Chart],
    question: Question,
    *,
    now: datetime,
    marks: Iterable[Mark] = (),
    limits: Mapping[str, Sequence[Limit]] | None = None,
) -> list[ChartAnswer]:
    """Several charts about the same thing: Prometheus is asked for all of them at once, and meanwhile `marks` are read.

    `limits` by chart, in the signals' own units; without any the model's own promises are drawn.
    """
    wanted = list(charts)
    window = window_of(question, now=now)
    found = [
        Findings(one, selection, window)
        for one, selection in zip(wanted, selections(wanted, question, window), strict=True)
    ]
    batch = Batch(answers(), (asked for one in found for asked in one.questions()))
    seen = list(marks)
    promised = promises(wanted, question.model) if limits is None else limits
    return [_answer(one, batch, question, now=now, marks=seen, limits=promised.get(one.chart.key, ())) for one in found]


def promises(charts: Iterable[Chart], model: str) -> dict[str, Sequence[Limit]]:
    """The model's own SLO for each chart; nothing without one, or for a model Conch does not know."""
    wanted = {chart.key: chart.slo for chart in charts if chart.slo}
    row = registry.models().filter(name=model).first() if model and wanted else None
    values = {key: getattr(row, name, None) for key, name in wanted.items()}
    return {key: (Limit("SLO", value),) for key, value in values.items() if value is not None}


def check(*, now: datetime) -> None:
    """Nothing when Prometheus answers, else PrometheusFailed."""
    second = int(now.timestamp())
    answers().over("vector(1)", Window(second, second, 1))


def _answer(
    found: Findings,
    batch: Batch,
    question: Question,
    *,
    now: datetime,
    marks: Sequence[Mark],
    limits: Sequence[Limit],
) -> ChartAnswer:
    try:
        found.collect(batch)
    except PrometheusFailed as error:
        return ChartAnswer(found.chart, "error", error.message, None, tuple(found.queries), now, found.window)
    if question.until is None:
        found.remarks += _awaited(found, now=now)
    if not any(line.last for line in found.lines):
        return ChartAnswer(found.chart, "empty", _why_empty(found), None, tuple(found.queries), now, found.window)
    return _drawn(found, now=now, marks=marks, limits=limits)


def _awaited(found: Findings, *, now: datetime) -> Iterator[str]:
    """Remarks about versions the servers have loaded and Prometheus has not seen."""
    asked = found.selection
    if not asked.model or not found.chart.is_per_version or found.chart.is_optional or not found.is_scraped:
        return
    rows = fleet.observed(model=asked.model, environment=asked.environment, server=asked.server)
    loaded = [words.Loaded(str(row.version), row.since) for row in rows if row.state == Readiness.READY]
    if asked.versions:
        loaded = [one for one in loaded if one.version in asked.versions]
    yield from words.awaited(loaded, versions_in(found.series), now=now, scrape_interval_s=scrape_interval_s())


def _why_empty(found: Findings) -> str:
    remarks = [remark for remark in found.remarks if remark]
    if remarks and not found.series:
        return _sentence(remarks)
    if found.chart.is_of_devices:
        return _sentence([*remarks, found.chart.idle])
    return _sentence([*remarks, words.nothing(found.chart, found.selection, found.servers, has_series=found.is_loaded)])


def _drawn(found: Findings, *, now: datetime, marks: Sequence[Mark], limits: Sequence[Limit]) -> ChartAnswer:
    drawn = [line for line in found.lines if line.last is not None]
    lines = busiest(drawn)
    remarks = [*found.remarks, *found.said, words.down(found.servers)]
    if len(lines) < len(drawn):
        remarks.append(f"the {len(lines)} busiest of {len(drawn)} lines are shown")
    scaled = [Limit(limit.name, limit.value * found.chart.scale) for limit in limits]
    picture = figure(found.chart, lines, found.window, marks=marks, limits=scaled)
    return ChartAnswer(
        found.chart,
        "ok",
        _sentence(remarks),
        picture,
        tuple(found.queries),
        now,
        found.window,
        tuple(_latest(lines, found.window)),
        tuple(lines),
    )


def _latest(lines: Iterable[Line], window: Window) -> Iterator[Latest]:
    for line in lines:
        if line.last is not None:
            index, value = line.last
            yield Latest(line.name, value, shown(value), is_current=is_current(index, window))


def _sentence(remarks: Iterable[str]) -> str:
    """The remarks once each, in order; one that another goes on from is said by that one."""
    said = dict.fromkeys(remark for remark in remarks if remark)
    return "; ".join(one for one in said if not any(other != one and other.startswith(one) for other in said))
