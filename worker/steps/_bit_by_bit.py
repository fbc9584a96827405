"""Many requests in one step: a few seconds of them, then a look at whether they are still wanted."""

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from apps.deployments.errors import WarmupFailed
from worker.context import Context
from worker.outcomes import Wait

# After so long the step asks to be called again; one request that takes longer is waited for.
BUDGET_S = 2.0

T = TypeVar("T")


def one_by_one(
    context: Context, key: str, todo: Sequence[Any], ask: Callable[[Any, list[T]], T], *, doing: str
) -> list[T] | Wait:
    """What `ask` says to each of `todo`, over as many calls of the step as it takes; it is given what was said so far.

    What was said is remembered under `key`, and counts as long as there is as much to do. WarmupFailed when it has
    taken longer than the environment's progress deadline.
    """
    kept = context.recall(key) or {}
    said: list[T] = list(kept.get("said", ())) if kept.get("of") == len(todo) else []
    began_s, until = kept.get("began_s", context.seconds_in_step()), time.monotonic() + BUDGET_S
    for one in todo[len(said) :]:
        so_far = f"{context.work.server.name}: {doing}: {len(said)} of {len(todo)} requests"
        _refuse_if_late(context, so_far, began_s)
        if time.monotonic() > until:
            context.remember(**{key: _kept(said, todo, began_s)})
            return Wait(0, so_far)
        said.append(ask(one, said))
    context.bear_in_mind(**{key: _kept(said, todo, began_s)})
    return said


def forget(context: Context) -> None:
    """What was said is no longer true: the version has been loaded again."""
    context.remember(warm=None, golden=None)


def _kept(said: list[Any], todo: Sequence[Any], began_s: float) -> dict[str, Any]:
    return {"said": said, "of": len(todo), "began_s": began_s}


def _refuse_if_late(context: Context, so_far: str, began_s: float) -> None:
    deadline_s = context.work.progress_deadline_s
    if context.seconds_in_step() - began_s > deadline_s:
        raise WarmupFailed(
            f"{so_far} in {deadline_s} s, and no more time is given",
            hint="The model is too slow for so many samples: give it fewer, or a longer progress_deadline_s.",
        )
