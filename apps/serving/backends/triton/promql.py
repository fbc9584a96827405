"""Triton's metrics as PromQL: what to ask Prometheus for each signal. Pure.

Servers carry the labels `environment` and `server` (Conch hands them to Prometheus with the targets); Triton
itself gives `model` and `version`. Source: Triton's metrics.md; times are cumulative microseconds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from apps.common.names import SHADOW_SUFFIX
from apps.serving.signals import Query, Selection, Signal, Unsupported

QUANTILES = ("0.5", "0.95", "0.99")
_NO_SHADOW = f'model!~".*{SHADOW_SUFFIX.replace(".", "[.]")}"'


def query(signal: Signal, selection: Selection) -> Query | Unsupported:
    """PromQL for `signal` on Tritons, or why there is none."""
    return _QUERIES[signal](_Asked(selection))


def quoted(value: str) -> str:
    """`value` as a PromQL string literal: nothing in it can end the literal."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


@dataclass(frozen=True, slots=True)
class _Asked:
    """A selection with the pieces every query is made of."""

    selection: Selection

    @property
    def window(self) -> str:
        return f"[{self.selection.window_s}s]"

    @property
    def by(self) -> tuple[str, ...]:
        """Labels that tell a version's lines apart: those the selection leaves open."""
        chosen = self.selection
        environment = () if chosen.environment or chosen.server else ("environment",)
        return (*environment, *(() if chosen.model else ("model",)), "version")

    def series(self, metric: str, *matchers: str) -> str:
        """Selector of a metric that models give; never the shadow's."""
        chosen = self.selection
        own = self._matchers({"model": chosen.model, "version": chosen.version})
        return f"{metric}{{{','.join([*self._server(), *own, _NO_SHADOW, *matchers])}}}"

    def machine(self, metric: str) -> str:
        """Selector of a metric that a server gives about its machine."""
        return f"{metric}{{{','.join(self._server())}}}"

    def rate(self, metric: str, *also_by: str) -> str:
        """Increase per second, summed over servers after each one's own rate."""
        return f"sum by ({', '.join((*self.by, *also_by))}) (rate({self.series(metric)}{self.window}))"

    def live(self, promql: str) -> str:
        """`promql` only while the version is loaded: failure counters outlive their version, successes do not."""
        return f"({promql}) and on ({', '.join(self.by)}) {self.loaded}"

    @property
    def loaded(self) -> str:
        return f"sum by ({', '.join(self.by)}) ({self.series('nv_inference_request_success')})"

    def _server(self) -> list[str]:
        return self._matchers({"environment": self.selection.environment, "server": self.selection.server})

    @staticmethod
    def _matchers(labels: Mapping[str, str]) -> list[str]:
        return [f"{label}={quoted(value)}" for label, value in labels.items() if value]


def _requests(asked: _Asked) -> str:
    """Answered and failed requests per second; a version without a failure series has no failures."""
    good = asked.rate("nv_inference_request_success")
    return f"({good} + ({asked.rate('nv_inference_request_failure')} or 0 * {good}))"


def _request_rate(asked: _Asked) -> Query:
    return Query(asked.live(_requests(asked)), asked.by)


def _failure_rate(asked: _Asked) -> Query:
    return Query(asked.live(asked.rate("nv_inference_request_failure", "reason")), (*asked.by, "reason"))


def _error_ratio(asked: _Asked) -> Query:
    bad = f"({asked.rate('nv_inference_request_failure')} or 0 * {asked.rate('nv_inference_request_success')})"
    return Query(asked.live(f"{bad} / {_requests(asked)}"), asked.by)


def _per_request_ms(*metrics: str) -> Callable[[_Asked], Query]:
    """Mean milliseconds per answered request of one or more cumulative times."""

    def ask(asked: _Asked) -> Query:
        spent = " + ".join(asked.rate(metric) for metric in metrics)
        return Query(asked.live(f"({spent}) / {asked.rate('nv_inference_request_success')} / 1000"), asked.by)

    return ask


def _latency_quantile(asked: _Asked) -> Query:
    """The worst over servers: quantiles cannot be averaged."""
    wanted = f'quantile=~"{"|".join(QUANTILES)}"'
    summary = f"last_over_time({asked.series('nv_inference_request_summary_us', wanted)}{asked.window})"
    by = (*asked.by, "quantile")
    return Query(asked.live(f"max by ({', '.join(by)}) ({summary}) / 1000"), by)


def _batch_size(asked: _Asked) -> Query:
    ratio = f"{asked.rate('nv_inference_count')} / {asked.rate('nv_inference_exec_count')}"
    return Query(asked.live(ratio), asked.by)


def _pending(asked: _Asked) -> Query:
    waiting = f"last_over_time({asked.series('nv_inference_pending_request_count')}{asked.window})"
    return Query(asked.live(f"sum by ({', '.join(asked.by)}) ({waiting})"), asked.by)


def _machine(metric: str, *by: str) -> Callable[[_Asked], Query]:
    """A gauge of the server's machine; a gap wherever the server was not scraped."""

    def ask(asked: _Asked) -> Query:
        labels = ("server", *by)
        gauge = f"max by ({', '.join(labels)}) (last_over_time({asked.machine(metric)}{asked.window}))"
        up = f"max by (server) ({asked.machine('up')}) == 1"
        return Query(f"{gauge} and on (server) ({up})", labels)

    return ask


def _is_scraped(asked: _Asked) -> Query:
    return Query(f"max by (server) ({asked.machine('up')})", ("server",))


_QUERIES: Mapping[Signal, Callable[[_Asked], Query | Unsupported]] = {
    Signal.REQUEST_RATE: _request_rate,
    Signal.FAILURE_RATE: _failure_rate,
    Signal.ERROR_RATIO: _error_ratio,
    Signal.LATENCY_MEAN: _per_request_ms("nv_inference_request_duration_us"),
    Signal.LATENCY_QUANTILE: _latency_quantile,
    Signal.QUEUE_TIME: _per_request_ms("nv_inference_queue_duration_us"),
    Signal.COMPUTE_TIME: _per_request_ms(
        "nv_inference_compute_input_duration_us",
        "nv_inference_compute_infer_duration_us",
        "nv_inference_compute_output_duration_us",
    ),
    Signal.BATCH_SIZE: _batch_size,
    Signal.PENDING: _pending,
    Signal.CPU_UTILISATION: _machine("nv_cpu_utilization"),
    Signal.CPU_MEMORY: _machine("nv_cpu_memory_used_bytes"),
    Signal.GPU_UTILISATION: _machine("nv_gpu_utilization", "gpu_uuid"),
    Signal.GPU_MEMORY: _machine("nv_gpu_memory_used_bytes", "gpu_uuid"),
    Signal.IS_SCRAPED: _is_scraped,
}
