"""Watching the other models of a server while something is loaded there, from the server's own counters."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from apps.common.errors import ControlPlaneError
from apps.common.names import shadow_of
from apps.deployments import services
from apps.deployments.neighbours import Counts, hurt, usual_ms
from worker.context import Context

SAMPLE_EVERY_S = 1.0
# Steps that load in earnest: where nothing can pause, the others are switches of milliseconds and are not watched.
LOADS = ("shadow", "load", "reconfigure")


def before(context: Context) -> dict[str, Any]:
    """What to remember right before a load is sent: where the neighbours' counters stand, and what is usual."""
    guard = context.work.policy.guard
    if guard is None or not (services.can_pause(context.work.rollout) or context.step.name in LOADS):
        return {}
    now = _counts(context)
    if now is None:
        return {"watched": False}
    usual = _known(context) or usual_ms(_recently(context), now, minimum_requests=guard.minimum_requests)
    # Where nobody is asked often enough to know what is usual, nobody can be seen to be slowed down.
    return {"watched": True, "usual_ms": usual, "began": now if usual else {}}


@contextmanager
def watched(context: Context) -> Iterator[None]:
    """Read the counters every second while the block waits for the server; pause the rollout where it hurts somebody.

    What brings servers back or right does not pause: whom it hurts is told.
    The reading thread uses no database connection.
    """
    if not context.recall("began"):
        yield
        return
    samples, stop = [_pairs(context.recall("began"))], threading.Event()
    reader = threading.Thread(target=_read, args=(context, samples, stop), name="neighbours", daemon=True)
    reader.start()
    try:
        yield
    finally:
        stop.set()
        reader.join()
        _judge(context, samples)


def look_again(context: Context) -> None:
    """The same for a load that goes on after its call: everything since it was sent is one window."""
    now = _counts(context) if context.recall("began") else None
    if now is not None:
        _judge(context, [_pairs(context.recall("began")), now])


def _read(context: Context, samples: list[Counts], stop: threading.Event) -> None:
    is_over = False
    while not is_over:
        is_over = stop.wait(SAMPLE_EVERY_S)
        now = _counts(context)
        if now is not None:
            samples.append(now)


def _judge(context: Context, samples: list[Counts]) -> None:
    """Hold each second, and the whole, against what is usual; told once in a step."""
    guard = context.work.policy.guard
    if guard is None or context.recall("hurt"):
        return
    windows = [*pairwise(samples), (samples[0], samples[-1])]
    usual = context.recall("usual_ms")
    found = next((hurting for began, now in windows if (hurting := hurt(usual, began, now, guard=guard))), [])
    if found:
        context.remember(hurt=[str(one) for one in found])
        what = f"{context.work.server.name}: loading {context.work.model} {context.new.number} slows down others"
        reason = f"{what}: {'; '.join(map(str, found[:3]))}"
        if not services.pause_for_neighbours(context.work.rollout, reason=reason, now=context.now):
            name = context.work.server.name
            services.tell_once(context.step, context.work.rollout, "neighbours_hurt", about=name, reason=reason)


def told(context: Context) -> dict[str, Any]:
    """For the step's detail: whom the load has hurt, where it has."""
    found = context.recall("hurt")
    return {"hurt": found} if found else {}


def _counts(context: Context) -> dict[str, tuple[int, int]] | None:
    """The neighbours' counters; None when the server does not tell."""
    own = {context.work.model, shadow_of(context.work.model)}
    try:
        found = context.backend.statistics()
    except ControlPlaneError:
        return None
    return {f"{one.model}/{one.version}": (one.success_count, one.success_us) for one in found if one.model not in own}


def _recently(context: Context) -> Counts:
    """Where the counters stood when the server was last observed; failures, which are counted there too, are rare."""
    return _pairs(getattr(getattr(context.work.server, "observation", None), "counters", {}))


def _known(context: Context) -> dict[str, float]:
    """What was usual before this run's first load: the shadow's own must not become the measure of the live one."""
    earlier = context.work.steps.get("shadow")
    return dict(earlier.memory.get("usual_ms", {})) if earlier else {}


def _pairs(kept: Any) -> Counts:
    return {key: (int(requests), int(spent_us)) for key, (requests, spent_us) in kept.items()}
