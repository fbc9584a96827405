"""Names of what rules look at, computed from courses of signals. Pure; None is what nobody told."""

from collections.abc import Mapping, Sequence
from statistics import mean, median

Course = Sequence[float | None]
Facts = Mapping[str, float | None]
MOST_DELAY_US = 5_000

MEASURES: Mapping[str, str] = {
    "rate": "requests/s",
    "rate_per_server": "requests/s on each server",
    "latency_ms": "ms mean latency",
    "queue_ms": "ms in the queue",
    "compute_ms": "ms of compute",
    "queue_share": "of the latency spent in the queue",
    "batch": "inferences per execution",
    "batch_limit": "max_batch_size",
    "batch_fill": "of max_batch_size filled",
    "gpus": "GPUs",
    "gpu_use": "use of the busiest GPU",
    "cpu_use": "use of the busiest CPU",
    "pending": "requests waiting",
    "pending_growth": "times as many waiting as at the beginning",
    "slowest_ratio": "times the latency of the median server",
    "servers": "servers",
    "small_batch": "inferences per execution when batches were small",
    "knee_batch": "inferences per execution when batches were large",
    "knee_cost": "times the compute per inference at large batches",
    "cold_ratio": "times the latency in the minutes after the load",
    "kept_bytes": "bytes still in use after the unload",
    "kept_share": "of what the load had taken still in use after the unload",
    "present_delay_us": "microseconds of queue delay now",
    "queue_delay_us": "microseconds of queue delay to try",
    "instances": "instances to try",
}


def known(course: Course) -> list[float]:
    """The points that have a value."""
    return [value for value in course if value is not None]


def average(course: Course) -> float | None:
    """The mean of the known points."""
    values = known(course)
    return mean(values) if values else None


def ratio(part: float | None, whole: float | None) -> float | None:
    """One as a share of the other; None when there is no other."""
    return None if part is None or not whole else part / whole


def longer_delay_us(present_us: float, *, compute_ms: float | None) -> float | None:
    """A queue delay to try: half of the compute, never less than twice what it is now, and not above 5 ms."""
    half = 0.0 if compute_ms is None else compute_ms * 1_000 / 2
    return min(MOST_DELAY_US, max(2 * present_us, half)) or None


def growth(course: Course) -> float | None:
    """How many times as high the last third is as the first; a beginning at nothing counts as one."""
    values = known(course)
    third = len(values) // 3
    if third == 0:
        return None
    return mean(values[-third:]) / max(mean(values[:third]), 1.0)


def slowest(latencies: Mapping[str, float | None]) -> tuple[str, float | None]:
    """The server that is slowest against the median of the others, and how many times."""
    told = {name: value for name, value in latencies.items() if value is not None}
    if len(told) < 2:  # noqa: PLR2004 - a peer is another one
        return "", None
    name = max(told, key=lambda one: told[one])
    return name, ratio(told[name], median(value for other, value in told.items() if other != name))


def knee(batches: Course, compute_ms: Course) -> tuple[float, float, float] | None:
    """Small and large batches, and how many times the compute per inference costs at large ones.

    1 or more: an execution of more inferences takes as much longer as it has more of them, so that waiting for a
    larger batch gives nothing. None where batches did not differ enough to tell.
    """
    points = sorted(
        (batch, spent / batch) for batch, spent in zip(batches, compute_ms, strict=True) if batch and spent is not None
    )
    quarter = len(points) // 4
    if quarter == 0:
        return None
    small, large = points[:quarter], points[-quarter:]
    low, high = mean(batch for batch, _ in small), mean(batch for batch, _ in large)
    if high < 1.5 * low:
        return None
    costs = [mean(cost for _, cost in part) for part in (small, large)]
    return None if not costs[0] else (low, high, costs[1] / costs[0])


def cold_ratio(latency: Course, *, loaded_at: int, warm_after: int) -> float | None:
    """Latency in the points after the load against that of the points after them; None without both."""
    first = average(latency[loaded_at:warm_after])
    later = average(latency[warm_after:])
    return ratio(first, later)


def kept_after_unload(memory: Course, *, loaded_at: int, unloaded_at: int, settled: int) -> tuple[float, float] | None:
    """Bytes that stayed after an unload, and as a share of what the load had taken; None where it cannot be told."""
    before = average(memory[max(0, loaded_at - settled) : loaded_at])
    during = average(memory[max(loaded_at + settled, unloaded_at - settled) : unloaded_at])
    after = average(memory[unloaded_at + settled :])
    if before is None or during is None or after is None or during <= before:
        return None
    return after - before, (after - before) / (during - before)
