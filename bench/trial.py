"""Runs changes on servers under traffic, each followed by an equally long quiet window."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.clients import Watch
from bench.figures import Request, Window, failed, longest_ms, stall_ratio
from bench.loads import loads_s, log_length
from bench.ways import MODEL, Way
from demo.parts.triton import Triton

SHORTEST_WINDOW_S = 2.0
# What a change leaves behind belongs to it, not to the quiet after it.
SETTLE_S = 1.0


@dataclass(frozen=True, slots=True)
class Change:
    """One change: how long it took, Triton's own loads in it by server, and its two windows."""

    kind: str
    took_s: float
    loads_s: list[dict[str, list[float]]]
    window: Window
    quiet: Window

    @property
    def loading_s(self) -> list[float]:
        """All loads of each server together."""
        return [sum(second for times in loads.values() for second in times) for loads in self.loads_s]

    def overhead_s(self, *, is_at_once: bool) -> float:
        """Per server, what the change took beyond Triton's loads; servers change side by side or in turn."""
        loading = self.loading_s
        if is_at_once:
            return self.took_s - statistics.mean(loading)
        return (self.took_s - sum(loading)) / len(loading)


def run_change(kind: str, change: Callable[[], float], servers: Sequence[Triton]) -> Change:
    """Do it, keep its window, and wait through a quiet one; `change` gives the seconds it took."""
    logs = [server.root / "triton.log" for server in servers]
    places = [log_length(log) for log in logs]
    begin_s = time.monotonic()
    took_s = change()
    time.sleep(max(0.0, begin_s + SHORTEST_WINDOW_S - time.monotonic()))
    window = Window(begin_s, time.monotonic())
    loads = [loads_s(log, after_byte=place) for log, place in zip(logs, places, strict=True)]
    time.sleep(SETTLE_S)
    quiet_s = time.monotonic()
    time.sleep(window.length_s)
    return Change(kind, took_s, loads, window, Window(quiet_s, time.monotonic()))


def timed(call: Callable[[], None], servers: Sequence[Triton], *, version: int, model: str = MODEL) -> float:
    """Seconds from the call to the moment the last server answers with that version."""
    watch = Watch(servers, model, version)
    begin_s = time.monotonic()
    call()
    return watch.wait() - begin_s


def run_way(way: Way, servers: Sequence[Triton], *, times: int) -> list[Change]:
    """Version 2 and back, so many times; the caller keeps the traffic going."""
    changes = []
    for _ in range(times):
        changes.append(run_change("promote", lambda: timed(way.bring_new, servers, version=2), servers))
        changes.append(run_change("roll_back", lambda: timed(way.bring_back, servers, version=1), servers))
    return changes


def median_overhead_s(changes: Sequence[Change], *, is_at_once: bool) -> float:
    """Of the promotions."""
    return round(
        statistics.median(one.overhead_s(is_at_once=is_at_once) for one in changes if one.kind == "promote"), 3
    )


def stall_of(changes: Sequence[Change], requests: Sequence[Request]) -> float:
    """Longest requests while changing over those in the quiet, medians of both."""
    changing, quiet = [one.window for one in changes], [one.quiet for one in changes]
    return round(stall_ratio(requests, changing=changing, quiet=quiet), 2)


def samples_of(changes: Sequence[Change], requests: Sequence[Request]) -> dict[str, Any]:
    """Everything the figures were made of, window by window."""
    told = [
        {
            "kind": one.kind,
            "took_s": round(one.took_s, 4),
            "triton_loads_s": one.loads_s,
            "window_s": round(one.window.length_s, 3),
            "longest_ms": round(longest_ms(requests, one.window), 3),
            "quiet_longest_ms": round(longest_ms(requests, one.quiet), 3),
            "failed": failed(requests, [one.window]),
        }
        for one in changes
    ]
    return {"changes": told, "traffic": traffic_summary(requests)}


def traffic_summary(requests: Sequence[Request]) -> dict[str, Any]:
    """How many were sent, how quick the middle one was, and every failure."""
    latencies = [one.latency_ms for one in requests]
    return {
        "requests": len(requests),
        "median_ms": round(statistics.median(latencies), 3),
        "longest_ms": round(max(latencies), 3),
        "failures": [one.error for one in requests if one.error][:100],
        "failed": sum(1 for one in requests if one.error),
    }


def folder_of(servers: Sequence[Triton]) -> Path:
    """Where files about these servers' traffic may lie."""
    return servers[0].root
