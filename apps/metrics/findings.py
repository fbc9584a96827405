"""What Prometheus says about one chart: servers, lines, remarks, and the queries that were asked."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from apps.metrics import words
from apps.metrics.answers import Batch
from apps.metrics.chart import Chart, Lines, Words
from apps.metrics.figures import Line
from apps.metrics.lines import lines_of
from apps.metrics.prometheus import Reply, Series
from apps.metrics.questions import scrape_interval_s
from apps.metrics.sources import queries
from apps.metrics.windows import Window, latest
from apps.serving.signals import Query, Selection, Signal


@dataclass(slots=True)
class Findings:
    """Filled by `collect`; after a failure it holds what was asked up to there.

    `servers` tells of each server whether its last scrape went well. `said` is about the lines, `remarks` about
    what is missing, `absent` why whole signals are.
    """

    chart: Chart
    selection: Selection
    window: Window
    servers: dict[str, bool] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    series: list[Series] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    absent: dict[Signal, str] = field(default_factory=dict)
    is_loaded: bool = False

    @property
    def is_scraped(self) -> bool:
        """Whether at least one server answers Prometheus."""
        return any(self.servers.values())

    def questions(self) -> Iterator[tuple[str, Window]]:
        """All that may be asked, at once: a question that waits for another's answer costs the page its time."""
        if not self.chart.is_of_devices:
            yield from self._questions(Signal.IS_SCRAPED, latest(self.window))
        if self.chart.is_optional and self.chart.is_per_version:
            # Most servers do not give it, and then it matters whether the model is loaded at all.
            yield from self._questions(Signal.REQUEST_RATE, latest(self.window))
        for spec in self._specs():
            yield from self._questions(spec.signal, self.window)

    def collect(self, batch: Batch) -> None:
        """Everything the chart shows; PrometheusFailed."""
        if not self.chart.is_of_devices:
            scraped = self._ask(batch, Signal.IS_SCRAPED, latest(self.window))
            self.remarks.append(words.clock(scraped.clock_ahead_s, scrape_interval_s=scrape_interval_s()))
            for one in scraped.series:
                self.servers[one.labels.get("server", "a server")] = bool(one.values[0])
        for spec in self._specs():
            if spec.instead_of is None or spec.instead_of in self.absent:
                self._collect_lines(batch, spec)
        self.is_loaded = bool(self.series) or (self.is_scraped and self._is_loaded(batch))
        self.remarks += self._why_absent()

    def _specs(self) -> Iterator[Lines]:
        return (spec for spec in self.chart.lines if self.selection.server or not spec.is_of_one_server)

    def _collect_lines(self, batch: Batch, spec: Lines) -> None:
        reply = self._ask(batch, spec.signal, self.window)
        self.remarks += [f"Prometheus warns: {warning}" for warning in reply.warnings]
        if reply.series:
            self.said.append(self._worded(spec.said))
        else:
            self.absent[spec.signal] = self._why(spec.signal)
        self.series += reply.series
        self.lines += lines_of(self.chart, spec, reply.series, self.selection)

    def _is_loaded(self, batch: Batch) -> bool:
        """Whether the servers have requests counted for the model at all: without, nothing else can be missing."""
        if not self.chart.is_per_version:
            return True
        found = [
            batch.over(query.promql, latest(self.window))
            for query in queries(Signal.REQUEST_RATE, self.selection)
            if isinstance(query, Query)
        ]
        return any(reply.series for reply in found)

    def _why_absent(self) -> list[str]:
        """Each reason once; of a model that is not loaded nothing is missing."""
        if self.chart.is_of_devices or (self.is_scraped and self.is_loaded):
            return list(dict.fromkeys(reason for reason in self.absent.values() if reason))
        return []

    def _why(self, signal: Signal) -> str:
        found = (query.absent for query in queries(signal, self.selection) if isinstance(query, Query))
        return next(found, "")

    def _worded(self, remark: Words | None) -> str:
        return words.about(remark, servers=self.servers, selection=self.selection)

    def _questions(self, signal: Signal, window: Window) -> Iterator[tuple[str, Window]]:
        for query in queries(signal, self.selection):
            if isinstance(query, Query):
                yield query.promql, window

    def _ask(self, batch: Batch, signal: Signal, window: Window) -> Reply:
        """What all sources give for `signal`; one that cannot says why."""
        replies = []
        for query in queries(signal, self.selection):
            if isinstance(query, Query):
                self.queries.append(query.promql)
                replies.append(batch.over(query.promql, window))
            else:
                self.remarks.append(query.reason)
        series = tuple(one for reply in replies for one in reply.series)
        warnings = tuple(warning for reply in replies for warning in reply.warnings)
        return Reply(series, warnings, max((reply.clock_ahead_s for reply in replies), key=abs, default=0.0))
