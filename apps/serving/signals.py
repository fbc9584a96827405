"""What can be measured about serving, each with its unit. Backends and exporters say how to ask for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Signal(StrEnum):
    """One measurable thing. Each source gives a query for it or says why it cannot."""

    REQUEST_RATE = "request_rate"
    FAILURE_RATE = "failure_rate"
    ERROR_RATIO = "error_ratio"
    ANSWERED_COUNT = "answered_count"
    FAILED_COUNT = "failed_count"
    LATENCY_MEAN = "latency_mean"
    LATENCY_QUANTILE = "latency_quantile"
    FIRST_RESPONSE = "first_response"
    QUEUE_TIME = "queue_time"
    COMPUTE_TIME = "compute_time"
    COMPUTE_INPUT = "compute_input"
    COMPUTE_INFER = "compute_infer"
    COMPUTE_OUTPUT = "compute_output"
    BATCH_SIZE = "batch_size"
    BATCH_EFFICIENCY = "batch_efficiency"
    PENDING = "pending"
    CACHE_HIT_RATIO = "cache_hit_ratio"
    CACHE_HIT_RATE = "cache_hit_rate"
    CACHE_MISS_RATE = "cache_miss_rate"
    CACHE_HIT_TIME = "cache_hit_time"
    CACHE_MISS_TIME = "cache_miss_time"
    LOAD_DURATION = "load_duration"
    CPU_UTILISATION = "cpu_utilisation"
    CPU_MEMORY = "cpu_memory"
    CPU_MEMORY_TOTAL = "cpu_memory_total"
    PINNED_MEMORY = "pinned_memory"
    PINNED_MEMORY_TOTAL = "pinned_memory_total"
    GPU_UTILISATION = "gpu_utilisation"
    GPU_MEMORY = "gpu_memory"
    GPU_MEMORY_TOTAL = "gpu_memory_total"
    GPU_POWER = "gpu_power"
    GPU_POWER_LIMIT = "gpu_power_limit"
    GPU_ENERGY = "gpu_energy"
    SLICE_UTILISATION = "slice_utilisation"
    SLICE_MEMORY = "slice_memory"
    SLICE_MEMORY_TOTAL = "slice_memory_total"
    CARD_POWER = "card_power"
    CARD_ENERGY = "card_energy"
    IS_SCRAPED = "is_scraped"


# What dcgm-exporter tells about cards and their slices, whatever serves on them.
DEVICE_SIGNALS = frozenset(
    {
        Signal.SLICE_UTILISATION,
        Signal.SLICE_MEMORY,
        Signal.SLICE_MEMORY_TOTAL,
        Signal.CARD_POWER,
        Signal.CARD_ENERGY,
    }
)

_BY_UNIT: Mapping[str, tuple[Signal, ...]] = {
    "requests/s": (Signal.REQUEST_RATE,),
    "failures/s": (Signal.FAILURE_RATE,),
    "lookups/s": (Signal.CACHE_HIT_RATE, Signal.CACHE_MISS_RATE),
    "ratio": (
        Signal.ERROR_RATIO,
        Signal.CACHE_HIT_RATIO,
        Signal.CPU_UTILISATION,
        Signal.GPU_UTILISATION,
        Signal.SLICE_UTILISATION,
    ),
    "ms": (
        Signal.LATENCY_MEAN,
        Signal.LATENCY_QUANTILE,
        Signal.FIRST_RESPONSE,
        Signal.QUEUE_TIME,
        Signal.COMPUTE_TIME,
        Signal.COMPUTE_INPUT,
        Signal.COMPUTE_INFER,
        Signal.COMPUTE_OUTPUT,
        Signal.CACHE_HIT_TIME,
        Signal.CACHE_MISS_TIME,
    ),
    "s": (Signal.LOAD_DURATION,),
    "inferences per execution": (Signal.BATCH_SIZE,),
    "requests per execution": (Signal.BATCH_EFFICIENCY,),
    "requests": (Signal.PENDING, Signal.ANSWERED_COUNT, Signal.FAILED_COUNT),
    "bytes": (
        Signal.CPU_MEMORY,
        Signal.CPU_MEMORY_TOTAL,
        Signal.PINNED_MEMORY,
        Signal.PINNED_MEMORY_TOTAL,
        Signal.GPU_MEMORY,
        Signal.GPU_MEMORY_TOTAL,
        Signal.SLICE_MEMORY,
        Signal.SLICE_MEMORY_TOTAL,
    ),
    "W": (Signal.GPU_POWER, Signal.GPU_POWER_LIMIT, Signal.GPU_ENERGY, Signal.CARD_POWER, Signal.CARD_ENERGY),
    "0 or 1": (Signal.IS_SCRAPED,),
}
UNITS: Mapping[Signal, str] = {signal: unit for unit, signals in _BY_UNIT.items() for signal in signals}


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU, or one MIG slice of it. The card by UUID, or by host and number; `instance` is the slice's GPU_I_ID.

    Under MIG every slice carries its card's UUID: only (card, instance) tells slices apart.
    """

    uuid: str = ""
    host: str = ""
    gpu: str = ""
    instance: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """What to measure: label values; empty means any.

    `window_s` is the rate's window, and how old a gauge's last sample may be: at least four scrapes. `by` names the
    labels that lines are told apart by, instead of all that the selection leaves open. `devices` are those of a
    server; none means every one.
    """

    environment: str = ""
    server: str = ""
    model: str = ""
    versions: tuple[str, ...] = ()
    window_s: int = 30
    is_per_server: bool = False
    by: tuple[str, ...] = ()
    devices: tuple[Device, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """PromQL for a signal, and the labels its series are told apart by.

    `absent` says why a server that is scraped may not give it, and what would make it.
    """

    promql: str
    by: tuple[str, ...]
    absent: str = ""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A source cannot give this signal, and why."""

    reason: str
