"""What a server has counted: over gRPC, and as Prometheus reads it."""

import os
from collections.abc import Callable, Iterable
from typing import Any

from tritonclient.grpc import service_pb2 as wire

from tests.doubles.triton.instance import Counters, Instance
from tests.doubles.triton.memory import GpuMemory
from tests.doubles.triton.models import Models
from tests.doubles.triton.refusals import not_available

QUANTILES = (0.5, 0.9, 0.95, 0.99)
REASONS = ("BACKEND", "CANCELED", "OTHER", "REJECTED")
COUNTERS: dict[str, Callable[[Counters], int]] = {
    "nv_inference_request_success": lambda counted: counted.success,
    "nv_inference_count": lambda counted: counted.inferences,
    "nv_inference_exec_count": lambda counted: counted.executions,
    "nv_inference_request_duration_us": lambda counted: counted.success_ns // 1_000,
    "nv_inference_queue_duration_us": lambda counted: counted.queue_ns // 1_000,
    "nv_inference_compute_input_duration_us": lambda counted: counted.success,
    "nv_inference_compute_infer_duration_us": lambda counted: (counted.success_ns - counted.queue_ns) // 1_000,
    "nv_inference_compute_output_duration_us": lambda counted: counted.success,
}


def response(models: Models, name: str, number: int | None) -> Any:
    """A ModelStatisticsResponse, in nanoseconds."""
    said = wire.ModelStatisticsResponse()
    found = [(each, one) for each, one in models.ready(name) if number in (None, one.number)]
    if name and not found:
        raise not_available(name)
    for each, instance in found:
        _tell(said.model_stats.add(name=each, version=str(instance.number)), instance.counters)
    return said


def _tell(line: Any, counted: Counters) -> None:
    line.last_inference, line.inference_count = counted.last_ms, counted.inferences
    line.execution_count = counted.executions
    spent = line.inference_stats
    for timer, count, spent_ns in (
        (spent.success, counted.success, counted.success_ns),
        (spent.fail, counted.failure, counted.failure_ns),
        (spent.queue, counted.success, counted.queue_ns),
        (spent.compute_input, counted.success, counted.success * 1_000),
        (spent.compute_infer, counted.success, max(0, counted.success_ns - counted.queue_ns - counted.success * 2_000)),
        (spent.compute_output, counted.success, counted.success * 1_000),
    ):
        timer.count, timer.ns = count, spent_ns


def exposition(models: Models, memory: GpuMemory) -> str:
    """The text of /metrics."""
    found = list(models.ready())
    lines: list[str] = []
    for metric, value in COUNTERS.items():
        lines += _family(metric, "counter", ((_labels(name, one), value(one.counters)) for name, one in found))
    failures = [
        (f'model="{name}",reason="{reason}",version="{one.number}"', one.counters.failure * (reason == "BACKEND"))
        for name, one in found
        for reason in REASONS
    ]
    lines += _family("nv_inference_request_failure", "counter", failures)
    pending = ((_labels(name, one), max(0, one.in_flight - 1)) for name, one in found)
    lines += _family("nv_inference_pending_request_count", "gauge", pending)
    lines += _summaries(found)
    return "\n".join([*lines, *_machine(models), *memory.exposition(models), ""])


def _family(metric: str, kind: str, values: Iterable[tuple[str, object]]) -> list[str]:
    samples = [f"{metric}{{{labels}}} {value}" for labels, value in values]
    return [f"# HELP {metric} As Triton has it", f"# TYPE {metric} {kind}", *samples]


def _labels(name: str, instance: Instance) -> str:
    return f'model="{name}",version="{instance.number}"'


def _summaries(found: list[tuple[str, Instance]]) -> list[str]:
    metric = "nv_inference_request_summary_us"
    lines = [f"# HELP {metric} As Triton has it", f"# TYPE {metric} summary"]
    for name, instance in found:
        counted, labels = instance.counters, _labels(name, instance)
        lines.append(f"{metric}_count{{{labels}}} {counted.success}")
        lines.append(f"{metric}_sum{{{labels}}} {counted.success_ns // 1_000}")
        ranked = sorted(counted.recent_us)
        for share in QUANTILES:
            value = ranked[min(len(ranked) - 1, int(share * len(ranked)))] if ranked else "Nan"
            lines.append(f'{metric}{{{labels},quantile="{share}"}} {value}')
    return lines


def _machine(models: Models) -> list[str]:
    """An own figure per server that moves with what is loaded: 100 MB a version."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    used = 200_000_000 + 100_000_000 * len(list(models.ready()))
    gauges = {"nv_cpu_utilization": 0.1, "nv_cpu_memory_total_bytes": total, "nv_cpu_memory_used_bytes": used}
    return [line for name, value in gauges.items() for line in (f"# TYPE {name} gauge", f"{name} {value}")]
