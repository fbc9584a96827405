"""What can be measured about serving, each with its unit. Backends say how to ask for it."""

from dataclasses import dataclass
from enum import StrEnum


class Signal(StrEnum):
    """One measurable thing. Each backend gives a query for it or says why it cannot."""

    REQUEST_RATE = "request_rate"
    FAILURE_RATE = "failure_rate"
    ERROR_RATIO = "error_ratio"
    LATENCY_MEAN = "latency_mean"
    LATENCY_QUANTILE = "latency_quantile"
    QUEUE_TIME = "queue_time"
    COMPUTE_TIME = "compute_time"
    BATCH_SIZE = "batch_size"
    PENDING = "pending"
    CPU_UTILISATION = "cpu_utilisation"
    CPU_MEMORY = "cpu_memory"
    GPU_UTILISATION = "gpu_utilisation"
    GPU_MEMORY = "gpu_memory"
    IS_SCRAPED = "is_scraped"


UNITS: dict[Signal, str] = {
    Signal.REQUEST_RATE: "requests/s",
    Signal.FAILURE_RATE: "failures/s",
    Signal.ERROR_RATIO: "ratio",
    Signal.LATENCY_MEAN: "ms",
    Signal.LATENCY_QUANTILE: "ms",
    Signal.QUEUE_TIME: "ms",
    Signal.COMPUTE_TIME: "ms",
    Signal.BATCH_SIZE: "inferences per execution",
    Signal.PENDING: "requests",
    Signal.CPU_UTILISATION: "ratio",
    Signal.CPU_MEMORY: "bytes",
    Signal.GPU_UTILISATION: "ratio",
    Signal.GPU_MEMORY: "bytes",
    Signal.IS_SCRAPED: "0 or 1",
}


@dataclass(frozen=True, slots=True)
class Selection:
    """What to measure: label values; empty means any.

    `window_s` is the rate's window, and how old a gauge's last sample may be: at least four scrapes.
    """

    environment: str = ""
    server: str = ""
    model: str = ""
    version: str = ""
    window_s: int = 30


@dataclass(frozen=True, slots=True)
class Query:
    """PromQL for a signal, and the labels its series are told apart by."""

    promql: str
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A backend cannot give this signal, and why."""

    reason: str
