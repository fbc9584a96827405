"""What Prometheus says about one chart: servers, lines, remarks, and the queries that were asked."""

from dataclasses import dataclass, field

from apps.metrics import words
from apps.metrics.answers import answers
from apps.metrics.catalogue import Chart, Lines, Words
from apps.metrics.figures import Line
from apps.metrics.lines import lines_of
from apps.metrics.prometheus import Reply, Series
from apps.metrics.windows import Window
from apps.serving import backends
from apps.serving.signals import Query, Selection, Signal


@dataclass(slots=True)
class Findings:
    """Filled by `collect`; after a failure it holds what was asked up to there.

    `servers` tells of each server whether its last scrape went well. `said` is about the lines, `remarks` about
    what is missing.
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
    absent: set[Signal] = field(default_factory=set)

    @property
    def is_scraped(self) -> bool:
        """Whether at least one server answers Prometheus."""
        return any(self.servers.values())

    def collect(self) -> None:
        """Ask Prometheus for everything the chart shows; PrometheusFailed."""
        latest = Window(self.window.end_s, self.window.end_s, 1)
        for one in self._ask(Signal.IS_SCRAPED, latest).series:
            self.servers[one.labels.get("server", "a server")] = bool(one.values[0])
        for spec in self.chart.lines:
            if spec.instead_of is None or spec.instead_of in self.absent:
                self._collect_lines(spec)

    def _collect_lines(self, spec: Lines) -> None:
        reply = self._ask(spec.signal, self.window)
        self.remarks += [f"Prometheus warns: {warning}" for warning in reply.warnings]
        if reply.series:
            self.said.append(self._worded(spec.said))
        else:
            self.absent.add(spec.signal)
            self.remarks.append(self._worded(spec.absent) if self.is_scraped else "")
        self.series += reply.series
        self.lines += lines_of(self.chart, spec, reply.series, self.selection)

    def _worded(self, remark: Words | None) -> str:
        return words.about(remark, servers=self.servers, selection=self.selection)

    def _ask(self, signal: Signal, window: Window) -> Reply:
        """What all kinds of server give for `signal`; a kind that cannot says why."""
        replies = []
        for query in (backends.get(kind).query(signal, self.selection) for kind in backends.kinds()):
            if isinstance(query, Query):
                self.queries.append(query.promql)
                replies.append(answers().over(query.promql, window))
            else:
                self.remarks.append(query.reason)
        series = tuple(one for reply in replies for one in reply.series)
        return Reply(series, tuple(warning for reply in replies for warning in reply.warnings))
