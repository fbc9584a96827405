"""Triton's metrics as PromQL: what to ask Prometheus for each signal. Pure.

Servers carry the labels `environment` and `server` (Conch hands them to Prometheus with the targets); Triton
itself gives `model` and `version`. Source: Triton's metrics.md; times are cumulative microseconds.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from apps.serving.backends.triton.absent import ABSENT
from apps.serving.backends.triton.asked import Asked
from apps.serving.matching import one_of
from apps.serving.signals import Query, Selection, Signal, Unsupported

QUANTILES = ("0.5", "0.95", "0.99")
_SUCCESS, _FAILURE = "nv_inference_request_success", "nv_inference_request_failure"
_HITS, _MISSES = "nv_cache_num_hits_per_model", "nv_cache_num_misses_per_model"
_NO_DEVICES = "dcgm-exporter tells this, not Triton"


def query(signal: Signal, selection: Selection) -> Query | Unsupported:
    """PromQL for `signal` on Tritons, or why there is none."""
    ask = _QUERIES.get(signal)
    if ask is None:
        return Unsupported(_NO_DEVICES)
    return replace(ask(Asked(selection)), absent=ABSENT.get(signal, ""))


def _requests(asked: Asked) -> str:
    """Answered and failed requests per second; a version without a failure series has no failures."""
    good = asked.rate(_SUCCESS)
    return f"({good} + ({asked.rate(_FAILURE)} or 0 * {good}))"


def _request_rate(asked: Asked) -> Query:
    return Query(asked.live(_requests(asked)), asked.by)


def _failure_rate(asked: Asked) -> Query:
    return Query(asked.live(asked.rate(_FAILURE, "reason")), (*asked.by, "reason"))


def _error_ratio(asked: Asked) -> Query:
    bad = f"({asked.rate(_FAILURE)} or 0 * {asked.rate(_SUCCESS)})"
    return Query(asked.live(f"{bad} / {_requests(asked)}"), asked.by)


def _answered_count(asked: Asked) -> Query:
    """Requests answered within the window; what was there at a series' first scrape is no traffic."""
    return Query(f"sum by ({', '.join(asked.by)}) (increase({asked.series(_SUCCESS)}{asked.window}))", asked.by)


def _failed_count(asked: Asked) -> Query:
    """Requests failed within the window; a series that is new in it counts from 0, not from its first scrape."""
    failed, by = asked.series(_FAILURE), ", ".join(asked.by)
    grown = f"sum by ({by}) (increase({failed}{asked.window}))"
    fresh = f"sum by ({by}) (min_over_time({failed}{asked.window}) unless {failed} offset {asked.selection.window_s}s)"
    return Query(asked.live(f"({grown} or 0 * {fresh}) + ({fresh} or 0 * {grown})"), asked.by)


def _per_event_ms(times: tuple[str, ...], event: str) -> Callable[[Asked], Query]:
    """Mean milliseconds of one or more cumulative times per event; nothing happened is 0/0, a gap."""

    def ask(asked: Asked) -> Query:
        spent = " + ".join(asked.rate(metric) for metric in times)
        return Query(asked.live(f"({spent}) / {asked.rate(event)} / 1000"), asked.by)

    return ask


def _per_request_ms(*times: str) -> Callable[[Asked], Query]:
    return _per_event_ms(tuple(f"nv_inference_{name}_duration_us" for name in times), _SUCCESS)


def _latency_quantile(asked: Asked) -> Query:
    """The worst over servers: quantiles cannot be averaged."""
    summary = asked.gauge("nv_inference_request_summary_us", f'quantile=~"{"|".join(QUANTILES)}"')
    by = (*asked.by, "quantile")
    return Query(asked.live(f"max by ({', '.join(by)}) ({summary}) / 1000"), by)


def _first_response(asked: Asked) -> Query:
    """The 99th percentile; buckets of several servers may be added up, so it is that of all of them."""
    buckets = asked.rate("nv_inference_first_response_histogram_ms_bucket", "le")
    return Query(asked.live(f"histogram_quantile(0.99, {buckets})"), asked.by)


def _batch_size(asked: Asked) -> Query:
    ratio = f"{asked.rate('nv_inference_count')} / {asked.rate('nv_inference_exec_count')}"
    return Query(asked.live(ratio), asked.by)


def _batch_efficiency(asked: Asked) -> Query:
    """Requests that one execution answers; those from the cache were not executed."""
    hits = f"({asked.rate(_HITS)} or 0 * {asked.rate(_SUCCESS)})"
    return Query(asked.live(f"({asked.rate(_SUCCESS)} - {hits}) / {asked.rate('nv_inference_exec_count')}"), asked.by)


def _pending(asked: Asked) -> Query:
    waiting = asked.gauge("nv_inference_pending_request_count")
    return Query(asked.live(f"sum by ({', '.join(asked.by)}) ({waiting})"), asked.by)


def _model_rate(metric: str) -> Callable[[Asked], Query]:
    return lambda asked: Query(asked.live(asked.rate(metric)), asked.by)


def _hit_ratio(asked: Asked) -> Query:
    hits = asked.rate(_HITS)
    return Query(asked.live(f"{hits} / ({hits} + {asked.rate(_MISSES)})"), asked.by)


def _load_duration(asked: Asked) -> Query:
    gauge = asked.gauge("nv_model_load_duration_secs")
    return Query(asked.live(f"max by ({', '.join(asked.by)}) ({gauge})"), asked.by)


def _machine(metric: str, *by: str, over: str = "last_over_time") -> Callable[[Asked], Query]:
    """A gauge of the server's machine, or a counter's rate; a gap wherever the server was not scraped."""

    def ask(asked: Asked) -> Query:
        labels = ("server", *by)
        mine = one_of("gpu_uuid", sorted({one.uuid for one in asked.selection.devices if one.uuid})) if by else []
        gauge = f"max by ({', '.join(labels)}) ({over}({asked.machine(metric, *mine)}{asked.window}))"
        return Query(f"{gauge} and on (server) (max by (server) ({asked.machine('up')}) == 1)", labels)

    return ask


def _is_scraped(asked: Asked) -> Query:
    return Query(f"max by (server) ({asked.machine('up')})", ("server",))


_QUERIES: Mapping[Signal, Callable[[Asked], Query]] = {
    Signal.REQUEST_RATE: _request_rate,
    Signal.FAILURE_RATE: _failure_rate,
    Signal.ERROR_RATIO: _error_ratio,
    Signal.ANSWERED_COUNT: _answered_count,
    Signal.FAILED_COUNT: _failed_count,
    Signal.LATENCY_MEAN: _per_request_ms("request"),
    Signal.LATENCY_QUANTILE: _latency_quantile,
    Signal.FIRST_RESPONSE: _first_response,
    Signal.QUEUE_TIME: _per_request_ms("queue"),
    Signal.COMPUTE_TIME: _per_request_ms("compute_input", "compute_infer", "compute_output"),
    Signal.COMPUTE_INPUT: _per_request_ms("compute_input"),
    Signal.COMPUTE_INFER: _per_request_ms("compute_infer"),
    Signal.COMPUTE_OUTPUT: _per_request_ms("compute_output"),
    Signal.BATCH_SIZE: _batch_size,
    Signal.BATCH_EFFICIENCY: _batch_efficiency,
    Signal.PENDING: _pending,
    Signal.CACHE_HIT_RATIO: _hit_ratio,
    Signal.CACHE_HIT_RATE: _model_rate(_HITS),
    Signal.CACHE_MISS_RATE: _model_rate(_MISSES),
    Signal.CACHE_HIT_TIME: _per_event_ms(("nv_cache_hit_duration_per_model",), _HITS),
    Signal.CACHE_MISS_TIME: _per_event_ms(("nv_cache_miss_duration_per_model",), _MISSES),
    Signal.LOAD_DURATION: _load_duration,
    Signal.CPU_UTILISATION: _machine("nv_cpu_utilization"),
    Signal.CPU_MEMORY: _machine("nv_cpu_memory_used_bytes"),
    Signal.CPU_MEMORY_TOTAL: _machine("nv_cpu_memory_total_bytes"),
    Signal.PINNED_MEMORY: _machine("nv_pinned_memory_pool_used_bytes"),
    Signal.PINNED_MEMORY_TOTAL: _machine("nv_pinned_memory_pool_total_bytes"),
    Signal.GPU_UTILISATION: _machine("nv_gpu_utilization", "gpu_uuid"),
    Signal.GPU_MEMORY: _machine("nv_gpu_memory_used_bytes", "gpu_uuid"),
    Signal.GPU_MEMORY_TOTAL: _machine("nv_gpu_memory_total_bytes", "gpu_uuid"),
    Signal.GPU_POWER: _machine("nv_gpu_power_usage", "gpu_uuid"),
    Signal.GPU_POWER_LIMIT: _machine("nv_gpu_power_limit", "gpu_uuid"),
    Signal.GPU_ENERGY: _machine("nv_energy_consumption", "gpu_uuid", over="rate"),
    Signal.IS_SCRAPED: _is_scraped,
}
