"""The facts about models, read from Prometheus: a few questions for all models together, asked at once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import ceil

from apps.metrics.answers import Batch, answers
from apps.metrics.diagnosis.facts import (
    Course,
    Facts,
    average,
    cold_ratio,
    growth,
    kept_after_unload,
    knee,
    longer_delay_us,
    ratio,
    slowest,
)
from apps.metrics.prometheus import Series
from apps.metrics.questions import scrape_interval_s
from apps.metrics.sources import queries
from apps.metrics.windows import Window, rate_window_s, window_for
from apps.serving.signals import Query, Selection, Signal

RANGE_S, LONG_RANGE_S = 900, 6 * 3_600
COLD_S, SETTLED_S = 120, 300
_BY_MODEL = (
    Signal.REQUEST_RATE,
    Signal.LATENCY_MEAN,
    Signal.QUEUE_TIME,
    Signal.COMPUTE_TIME,
    Signal.BATCH_SIZE,
    Signal.PENDING,
)


@dataclass(frozen=True, slots=True)
class Unload:
    """A version that was loaded on a server and unloaded again."""

    server: str
    loaded_at: datetime
    unloaded_at: datetime


@dataclass(frozen=True, slots=True)
class Known:
    """What Conch itself knows of a model where it is looked at: its configuration, and what was done."""

    max_batch_size: int = 0
    instances: int = 1
    queue_delay_us: int = 0
    loaded: Mapping[str, datetime] = field(default_factory=dict)
    unload: Unload | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """A model's facts; `slowest` is the server that `slowest_ratio` is about."""

    facts: Facts
    slowest: str


def collect(known: Mapping[str, Known], *, environment: str = "", server: str = "", now: datetime) -> dict[str, Told]:
    """The facts about each of these models in an environment or on one server; PrometheusFailed."""
    asked = _Asked(environment, server, now)
    return {model: asked.told(model, one) for model, one in known.items()}


class _Asked:
    def __init__(self, environment: str, server: str, now: datetime) -> None:
        self.window = window_for(RANGE_S, now=now, scrape_interval_s=scrape_interval_s())
        self.long = window_for(LONG_RANGE_S, now=now, scrape_interval_s=scrape_interval_s())
        self._selection = Selection(environment=environment, server=server)
        self._batch = Batch(answers(), self._questions())

    def told(self, model: str, known: Known) -> Told:
        """Everything that can be said of one model."""
        course = {signal: self._one(signal, model) for signal in _BY_MODEL}
        latencies = {
            one.labels.get("server", ""): average(one.values)
            for one in self._series(Signal.LATENCY_MEAN, self.window, "model", "server")
            if one.labels.get("model") == model
        }
        name, slow = slowest(latencies)
        return Told({**self._facts(course, known, servers=len(latencies)), "slowest_ratio": slow}, name)

    def _facts(self, course: Mapping[Signal, Course], known: Known, *, servers: int) -> dict[str, float | None]:
        rate, latency, queue, compute, batch = (average(course[signal]) for signal in _BY_MODEL[:5])
        bend = knee(course[Signal.BATCH_SIZE], course[Signal.COMPUTE_TIME])
        limit = float(known.max_batch_size) or None
        kept = self._kept(known.unload)
        return {
            "rate": rate,
            "rate_per_server": ratio(rate, float(servers)),
            "latency_ms": latency,
            "queue_ms": queue,
            "compute_ms": compute,
            "queue_share": ratio(queue, latency),
            "batch": batch,
            "batch_limit": limit,
            "batch_fill": ratio(batch, limit),
            "gpus": self._gpus(),
            "gpu_use": self._busiest(Signal.GPU_UTILISATION),
            "cpu_use": self._busiest(Signal.CPU_UTILISATION),
            "pending": average(course[Signal.PENDING][-3:]),
            "pending_growth": growth(course[Signal.PENDING]),
            "servers": float(servers),
            "small_batch": bend[0] if bend else None,
            "knee_batch": bend[1] if bend else None,
            "knee_cost": bend[2] if bend else None,
            "cold_ratio": self._cold(known.loaded),
            "kept_bytes": kept[0] if kept else None,
            "kept_share": kept[1] if kept else None,
            "present_delay_us": float(known.queue_delay_us),
            "queue_delay_us": longer_delay_us(known.queue_delay_us, compute_ms=compute),
            "instances": float(known.instances + 1),
        }

    def _cold(self, loaded: Mapping[str, datetime]) -> float | None:
        """The worst of the versions that were loaded in the time looked at."""
        found = []
        for one in self._series(Signal.LATENCY_MEAN, self.window, "model", "version"):
            since = loaded.get(one.labels.get("version", ""))
            if since is not None and since.timestamp() >= self.window.start_s:
                at = _index(since, self.window)
                warm = at + ceil(COLD_S / self.window.step_s)
                found.append(cold_ratio(one.values, loaded_at=at, warm_after=warm))
        return max((one for one in found if one is not None), default=None)

    def _kept(self, unload: Unload | None) -> tuple[float, float] | None:
        """Of the GPU's memory, or of the machine's where there is no GPU."""
        if unload is None or unload.loaded_at.timestamp() < self.long.start_s:
            return None
        for signal in (Signal.GPU_MEMORY, Signal.CPU_MEMORY):
            for one in self._series(signal, self.long):
                if one.labels.get("server") == unload.server:
                    return kept_after_unload(
                        one.values,
                        loaded_at=_index(unload.loaded_at, self.long),
                        unloaded_at=_index(unload.unloaded_at, self.long),
                        settled=ceil(SETTLED_S / self.long.step_s),
                    )
        return None

    def _gpus(self) -> float | None:
        """How many GPUs the servers tell of; 0 where they tell of their CPUs alone."""
        gpus, cpus = (self._series(signal, self.window) for signal in (Signal.GPU_UTILISATION, Signal.CPU_UTILISATION))
        return float(len(gpus)) if gpus or cpus else None

    def _busiest(self, signal: Signal) -> float | None:
        return max(
            (use for one in self._series(signal, self.window) if (use := average(one.values)) is not None), default=None
        )

    def _one(self, signal: Signal, model: str) -> Course:
        found = (one.values for one in self._series(signal, self.window, "model") if one.labels.get("model") == model)
        return next(found, ())

    def _questions(self) -> Iterator[tuple[str, Window]]:
        for signal in _BY_MODEL:
            yield from self._asked(signal, self.window, "model")
        yield from self._asked(Signal.LATENCY_MEAN, self.window, "model", "server")
        for signal in (Signal.GPU_UTILISATION, Signal.CPU_UTILISATION):
            yield from self._asked(signal, self.window)

    def _series(self, signal: Signal, window: Window, *by: str) -> Sequence[Series]:
        return [
            one for promql, over in self._asked(signal, window, *by) for one in self._batch.over(promql, over).series
        ]

    def _asked(self, signal: Signal, window: Window, *by: str) -> Iterator[tuple[str, Window]]:
        rate_s = rate_window_s(window, scrape_interval_s=scrape_interval_s())
        for query in queries(signal, replace(self._selection, window_s=rate_s, by=by)):
            if isinstance(query, Query):
                yield query.promql, window


def _index(moment: datetime, window: Window) -> int:
    return max(0, ceil((moment.timestamp() - window.start_s) / window.step_s))
