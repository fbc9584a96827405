"""The shadow and the serving version under the same load: request for request, from the model's samples.

The serving version has clients: the rate and the time are bounded, whatever the policy asks for.
"""

import itertools
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from apps.common.errors import ControlPlaneError
from apps.common.text import SHOWN_CHARS, printable
from apps.deployments import plan
from apps.deployments.errors import ShadowTooSlow, ShadowUnmeasured
from apps.deployments.policy import ShadowLoad
from apps.registry import fitting, samples
from apps.serving.protocol import Tensor
from worker.context import Context

# At most so many requests a second to each side, and so long over all.
MOST_PER_S, LONGEST_S = 50.0, 15.0
TIMEOUT_S = 5.0
# Fewer pairs than this tell nothing about the slow end.
FEWEST = 10
SLOW_END = 0.95


@dataclass(slots=True)
class _Pairs:
    """Latencies in microseconds of both sides, request for request; filled by several threads."""

    serving: list[int] = field(default_factory=list)
    shadow: list[int] = field(default_factory=list)
    problem: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)


def compare(context: Context, shadow: str, load: ShadowLoad) -> dict[str, Any]:
    """What people read of it; ShadowTooSlow past the limit, ShadowUnmeasured where too little was answered."""
    work, new = context.work, context.new
    if work.old is None:
        return {"load": "nothing serves yet that it could be held against"}
    unsuited = work.config_format.cannot_ask(new.config) or work.config_format.cannot_ask(work.old.config)
    if unsuited:
        return {"load": f"not put under load: {unsuited}"}
    inputs = _inputs(context)
    if not inputs:
        return {"load": f"not put under load: no request suits both: {'; '.join(_changes(context)[:3])}"}
    pairs = _ask_both(context, shadow, load, inputs)
    if len(pairs.shadow) < min(FEWEST, load.requests):
        raise ShadowUnmeasured(
            f"{work.server.name}: {shadow} {new.number}: {len(pairs.shadow)} of {load.requests} requests were answered "
            f"by both: {pairs.problem or 'the time was over'}"
        )
    serving_ms, shadow_ms = (_slow_end(side) / 1000 for side in (pairs.serving, pairs.shadow))
    ratio = shadow_ms / max(serving_ms, 0.001)
    told: dict[str, Any] = {
        "load_requests": len(pairs.shadow),
        "serving_p95_ms": round(serving_ms, 2),
        "shadow_p95_ms": round(shadow_ms, 2),
        "ratio": round(ratio, 3),
        "ratio_limit": load.ratio_limit,
    }
    if ratio > load.ratio_limit:
        raise ShadowTooSlow(
            f"{work.server.name}: {work.model} {new.number} takes {shadow_ms:.1f} ms (p95), {work.old.number} takes "
            f"{serving_ms:.1f} ms under the same load: {ratio:.2f} times as long, the limit is {load.ratio_limit:g}",
            **told,
        )
    return told


def _inputs(context: Context) -> list[list[Tensor]]:
    """Every sample that both sides take; without one, zeros made from the configuration, where the model takes them.

    None where the interface has changed so that nothing suits both: then there is nothing to hold it against.
    """
    fit, _ = fitting.split(context.work.samples, context.new)
    if context.work.old is not None:
        fit, _ = fitting.split(fit, context.work.old)
    kept = [samples.to_tensors(sample.inputs) for sample in fit]
    if not kept and _changes(context):
        return []
    zeros = context.work.config_format.example_inputs(context.new.config)
    found = kept or ([zeros] if zeros else [])
    if not found:
        raise ShadowUnmeasured(f"{context.work.model} has no sample that both take, and takes no made-up inputs")
    return found


def _changes(context: Context) -> list[str]:
    """What a client of the version that serves would trip over."""
    old = context.work.old
    return plan.interface_changes(old.signature, context.new.signature) if old else []


def _ask_both(context: Context, shadow: str, load: ShadowLoad, inputs: Sequence[list[Tensor]]) -> _Pairs:
    pairs = _Pairs()
    numbers = iter(range(load.requests))
    until = time.monotonic() + LONGEST_S

    def client() -> None:
        pause_s = load.clients / MOST_PER_S
        while time.monotonic() < until and not pairs.problem:
            with pairs.lock:
                number = next(numbers, None)
            if number is None:
                return
            began = time.monotonic()
            _pair(context, shadow, inputs[number % len(inputs)], number, pairs)
            time.sleep(max(0.0, min(pause_s - (time.monotonic() - began), until - time.monotonic())))

    with ThreadPoolExecutor(load.clients, thread_name_prefix="compare") as pool:
        # The asking threads use no database connection.
        for done in [pool.submit(client) for _ in range(load.clients)]:
            done.result()
    return pairs


def _pair(context: Context, shadow: str, inputs: list[Tensor], number: int, pairs: _Pairs) -> None:
    """One request to each, in turns who is first: what disturbs the server disturbs both."""
    work, old = context.work, context.work.old
    sides = [(work.model, old.number if old else 0), (shadow, context.new.number)]
    order = sides if number % 2 else sides[::-1]
    try:
        took = {name: context.backend.infer(name, n, inputs, timeout_s=TIMEOUT_S).latency_us for name, n in order}
    except ControlPlaneError as error:
        pairs.problem = printable(error.message, limit=SHOWN_CHARS)
        return
    with pairs.lock:
        pairs.serving.append(took[work.model])
        pairs.shadow.append(took[shadow])


def _slow_end(latencies_us: Sequence[int]) -> float:
    ordered = sorted(latencies_us)
    return float(next(itertools.islice(ordered, int(len(ordered) * SLOW_END), None), ordered[-1]))
