"""How is it doing: one chart, read from Prometheus, with what to know about it in words."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings

from apps.fleet import selectors as fleet
from apps.metrics import words
from apps.metrics.answers import answers
from apps.metrics.catalogue import CHARTS, Chart
from apps.metrics.errors import ChartUnknown, PrometheusFailed
from apps.metrics.figures import Line, Mark, figure
from apps.metrics.findings import Findings
from apps.metrics.labels import shown
from apps.metrics.lines import busiest, versions_in
from apps.metrics.windows import USUAL_S, Window, rate_window_s, window_for
from apps.registry import selectors as registry
from apps.serving.protocol import Readiness
from apps.serving.signals import Selection

# A line that ends this close to the right edge is about now.
CURRENT_POINTS = 3


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
    latest: tuple[Latest, ...] = ()


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
    wanted = get_chart(key)
    scrape_interval_s: int = settings.CONCH["scrape_interval_s"]
    window = window_for(range_s, now=now, scrape_interval_s=scrape_interval_s)
    rate_s = rate_window_s(window, scrape_interval_s=scrape_interval_s)
    selection = Selection(environment=environment, server=server, model=model, window_s=rate_s)
    found = Findings(wanted, selection, window)
    try:
        found.collect()
    except PrometheusFailed as error:
        return ChartAnswer(wanted, "error", error.message, None, tuple(found.queries), now)
    found.remarks += _awaited(found, now=now)
    if not any(line.last for line in found.lines):
        return ChartAnswer(wanted, "empty", _why_empty(found), None, tuple(found.queries), now)
    return _drawn(found, now=now, marks=marks, slo=_promise(wanted, model) if slo is None else slo)


def check(*, now: datetime) -> None:
    """Nothing when Prometheus answers, else PrometheusFailed."""
    second = int(now.timestamp())
    answers().over("vector(1)", Window(second, second, 1))


def _awaited(found: Findings, *, now: datetime) -> Iterator[str]:
    """Remarks about versions the servers have loaded and Prometheus has not seen."""
    asked = found.selection
    if not asked.model or not found.chart.is_per_version or not found.is_scraped:
        return
    rows = fleet.observed(model=asked.model, environment=asked.environment, server=asked.server)
    loaded = [words.Loaded(str(row.version), row.since) for row in rows if row.state == Readiness.READY]
    scrape_interval_s: int = settings.CONCH["scrape_interval_s"]
    yield from words.awaited(loaded, versions_in(found.series), now=now, scrape_interval_s=scrape_interval_s)


def _promise(wanted: Chart, model: str) -> float | None:
    """The model's own SLO for this chart; None without one, or for a model Conch does not know."""
    if not model or not wanted.slo:
        return None
    row = registry.models().filter(name=model).first()
    promised: float | None = getattr(row, wanted.slo, None)
    return promised


def _why_empty(found: Findings) -> str:
    remarks = [remark for remark in found.remarks if remark]
    why = words.nothing(found.chart, found.selection, found.servers, has_series=bool(found.series))
    return _sentence(remarks if remarks and not found.series else [*remarks, why])


def _drawn(found: Findings, *, now: datetime, marks: Iterable[Mark], slo: float | None) -> ChartAnswer:
    drawn = [line for line in found.lines if line.last is not None]
    lines = busiest(drawn)
    remarks = [*found.said, *found.remarks, words.down(found.servers)]
    if len(lines) < len(drawn):
        remarks.append(f"the {len(lines)} busiest of {len(drawn)} lines are shown")
    promised = None if slo is None else slo * found.chart.scale
    picture = figure(found.chart, lines, found.window, marks=marks, slo=promised)
    latest = tuple(_latest(lines, found.window))
    return ChartAnswer(found.chart, "ok", _sentence(remarks), picture, tuple(found.queries), now, latest)


def _latest(lines: Iterable[Line], window: Window) -> Iterator[Latest]:
    for line in lines:
        if line.last is not None:
            index, value = line.last
            yield Latest(line.name, value, shown(value), is_current=index >= len(window) - CURRENT_POINTS)


def _sentence(remarks: Iterable[str]) -> str:
    """The remarks once each, in order."""
    return "; ".join(dict.fromkeys(remark for remark in remarks if remark))
