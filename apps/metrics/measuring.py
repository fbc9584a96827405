"""What Prometheus says about one gate now: of the version that came, and of the one it replaces."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.conf import settings

from apps.common.names import natural
from apps.common.text import SHOWN_CHARS, printable
from apps.metrics.answers import answers
from apps.metrics.errors import PrometheusFailed, PrometheusUnwell
from apps.metrics.gates import PROBE_FAILURES, Against, Gate
from apps.metrics.prometheus import Series
from apps.metrics.verdicts import Measured
from apps.metrics.windows import Window
from apps.serving import backends
from apps.serving.signals import Query, Selection, Signal

# Fewer can never give two samples: a rate needs them.
FEWEST_SCRAPES = 3


@dataclass(frozen=True, slots=True)
class Subject:
    """What is judged: `version` on the servers it is live on since `since`, before which `replaced` served alone."""

    environment: str
    model: str
    version: int
    replaced: int | None
    servers: frozenset[str]
    since: datetime
    began_at: datetime


@dataclass(frozen=True, slots=True)
class Probes:
    """Conch's own requests to the version within the gate's window."""

    made: int = 0
    failed: int = 0
    synthetic: int = 0
    message: str = ""


def measure(gate: Gate, subject: Subject, *, now: datetime, probes: Probes) -> Measured:
    """Ask for everything the gate rests on; what cannot be asked is told in `error`, never raised."""
    found = Measured(
        probes=probes.made, failed_probes=probes.failed, probe_message=probes.message, synthetic=probes.synthetic
    )
    if gate.signal == PROBE_FAILURES:
        ratio = probes.failed / probes.made if probes.made else None
        return replace(found, value=ratio, samples=float(probes.made), remark=probes.message)
    asking = _Asking(subject)
    try:
        return replace(asking.all_of(gate, found, now=now), queries=tuple(asking.queries))
    except PrometheusFailed as error:
        return replace(found, error=error.message, queries=tuple(asking.queries))


def answered(subject: Subject, *, window_s: int, now: datetime) -> dict[str, float]:
    """Requests each server answered with the version within the window; PrometheusFailed."""
    return _Asking(subject).answered(subject.version, window_s=window_s, at=now)


@dataclass(slots=True)
class _Asking:
    """The questions of one look, each kept as it was sent."""

    subject: Subject
    queries: list[str] = field(default_factory=list)

    def all_of(self, gate: Gate, found: Measured, *, now: datetime) -> Measured:
        """The value, its samples and, where the gate asks for it, those of the replaced version."""
        live_s = int((now - self.subject.since).total_seconds())
        shortest_s = FEWEST_SCRAPES * int(settings.CONCH["scrape_interval_s"])
        window_s = max(shortest_s, min(gate.window_s, live_s))
        value, samples = self._value(gate, self.subject.version, window_s=window_s, at=now)
        found = replace(found, value=value, samples=samples, unscraped=self._unscraped(now))
        if gate.against != Against.REPLACED or self.subject.replaced is None:
            return found
        return self._with_baseline(gate, found, self.subject.replaced, window_s=window_s, now=now)

    def _with_baseline(self, gate: Gate, found: Measured, old: int, *, window_s: int, now: datetime) -> Measured:
        """The same window on the servers that still have the old version; once none has, the one before it began."""
        value, samples = self._value(gate, old, window_s=window_s, at=now)
        remark = f"version {old} over the same window"
        if (samples or 0) < gate.minimum_samples:
            value, samples = self._value(gate, old, window_s=gate.window_s, at=self.subject.began_at)
            remark = f"version {old} over the {gate.window_s} s before this rollout began"
        return replace(found, baseline=value, baseline_samples=samples, remark=remark)

    def _value(self, gate: Gate, version: int, *, window_s: int, at: datetime) -> tuple[float | None, float | None]:
        """The gate's value and the requests it rests on."""
        counts = self.answered(version, window_s=window_s, at=at)
        failed = _total(self._ask(Signal.FAILED_COUNT, version, window_s=window_s, at=at))
        samples = sum(counts.values()) + (failed or 0.0) if counts else failed
        if gate.signal == Signal.ERROR_RATIO:
            return ((failed or 0.0) / samples if samples else None), samples
        series = self._ask(Signal(gate.signal), version, window_s=window_s, at=at)
        if gate.signal == Signal.LATENCY_QUANTILE:
            series = [one for one in series if one.labels.get("quantile") == gate.quantile]
        values = _values(one for one in series if one.labels.get("server", "") in ("", *self.subject.servers))
        worst = max if gate.at == "most" else min
        return worst(values, default=None), samples

    def answered(self, version: int, *, window_s: int, at: datetime) -> dict[str, float]:
        """Requests answered within the window, by server; empty when there is no data.

        Of the new version only where the rollout has brought it: what others answer says nothing about it here.
        """
        series = self._ask(Signal.ANSWERED_COUNT, version, window_s=window_s, at=at)
        if version == self.subject.version:
            series = [one for one in series if one.labels.get("server") in self.subject.servers]
        return {one.labels.get("server", ""): value for one in series for value in one.values if value is not None}

    def _unscraped(self, now: datetime) -> tuple[str, ...]:
        """Servers of the new version from which Prometheus hears nothing now."""
        up = self._ask(Signal.IS_SCRAPED, None, window_s=0, at=now)
        heard = {one.labels.get("server") for one in up if one.values[0]}
        return tuple(sorted(self.subject.servers - heard, key=natural))

    def _ask(self, signal: Signal, version: int | None, *, window_s: int, at: datetime) -> list[Series]:
        """What all kinds of server give; PrometheusFailed, also when no kind can give it."""
        subject, second = self.subject, int(at.timestamp())
        selection = Selection(environment=subject.environment, window_s=window_s)
        if version is not None:
            selection = replace(selection, model=subject.model, versions=(str(version),))
        if signal == Signal.ANSWERED_COUNT:
            selection = replace(selection, is_per_server=True)
        asked = [backends.get(kind).query(signal, selection) for kind in backends.kinds()]
        promql = [query.promql for query in asked if isinstance(query, Query)]
        if not promql:
            raise PrometheusFailed("; ".join(query.reason for query in asked if not isinstance(query, Query)))
        self.queries += promql
        replies = [answers().over(one, Window(second, second, 1)) for one in promql]
        series = [series for reply in replies for series in reply.series]
        _require_asked_for(series, selection)
        return series


def _require_asked_for(series: list[Series], selection: Selection) -> None:
    """Whatever names its model, its version or its environment must name those that were asked for."""
    asked = {"environment": {selection.environment}, "model": {selection.model}, "version": {*selection.versions}}
    for label, wanted in asked.items():
        given = {one.labels[label] for one in series if label in one.labels}
        if wanted - {""} and given - wanted:
            told = printable(", ".join(sorted(given - wanted)), limit=SHOWN_CHARS)
            raise PrometheusUnwell(f"Prometheus was asked about {label} {', '.join(wanted)}, and tells of {told}")


def _values(series: Iterable[Series]) -> list[float]:
    return [value for one in series for value in one.values if value is not None]


def _total(series: list[Series]) -> float | None:
    values = _values(series)
    return sum(values) if values else None
