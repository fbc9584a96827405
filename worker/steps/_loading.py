"""Loading versions and learning what became of it. A client that gives up is no verdict on the server's work."""

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

from apps.serving.errors import LoadPending, LoadRefused, LoadStuck
from apps.serving.protocol import IndexEntry, Readiness
from worker.context import PATIENCE_S, Context
from worker.outcomes import Wait
from worker.steps import _memory, _neighbours

_BUSY = (Readiness.LOADING, Readiness.UNLOADING)


def load_once(
    context: Context,
    model: str,
    config: Mapping[str, Any],
    *,
    versions: Collection[int],
    number: int,
    keeping: Mapping[str, Any] | None = None,
) -> Wait | None:
    """Have exactly `versions` loaded, `number` among them; None once that is so, else what is waited for.

    `keeping` is remembered with the fact that the load was sent. State first: a second load sent while the first is
    under way would restart everything once more. Raises LoadRefused with the server's words, or LoadStuck past the
    model's deadline.
    """
    _memory.look_aside(context)
    entries = context.entries(model)
    if context.recall("sent"):
        _neighbours.look_again(context)
        if _ready(entries) == set(versions):
            return None
        if _is_under_way(context, entries, model, number):
            return _patience(context, model, number)
        if not context.work.home.tells_all:
            # Sent again it queues behind the first, whose outcome only this answer tells; what is up stays up.
            _patience(context, model, number)
    _memory.note(context)
    watching = _neighbours.before(context)
    before = {"reason_before": _reason(entries.get(number)), "was_idle": not _is_busy(entries), "was_loading": False}
    context.remember(sent=True, **before, **watching, **(keeping or {}))
    try:
        with _neighbours.watched(context):
            context.load(model, config, versions=versions)
    except LoadPending:
        if early := let_go(context):
            context.remember(**early)
        return _patience(context, model, number)
    return None


def let_go(context: Context) -> dict[str, float]:
    """What to remember of a call that gave up: when, where that was early, because others waited for its thread."""
    return {"let_go_at_s": context.seconds_in_step()} if context.patience_s < PATIENCE_S else {}


def _is_busy(entries: Mapping[int, IndexEntry]) -> bool:
    return any(entry.state in _BUSY for entry in entries.values())


def _is_under_way(context: Context, entries: Mapping[int, IndexEntry], model: str, number: int) -> bool:
    """Whether the load that was sent goes on; LoadRefused where it has failed. False: nobody knows of it any more."""
    if _is_busy(entries):
        if context.recall("was_idle") and not context.recall("was_loading"):
            context.remember(was_loading=True)
        return True
    _refuse_if_failed(context, entries.get(number), model)
    # A call that was let go of early: a server that fetches the files first does not say LOADING yet.
    let_go_at_s = context.recall("let_go_at_s")
    return let_go_at_s is not None and context.seconds_in_step() - let_go_at_s < PATIENCE_S


def _ready(entries: Mapping[int, IndexEntry]) -> set[int]:
    return {number for number, entry in entries.items() if entry.state == Readiness.READY}


def _reason(entry: IndexEntry | None) -> str:
    """Why a version failed; a version that was let go has no such reason."""
    failed = entry is not None and entry.state == Readiness.UNAVAILABLE and entry.reason != "unloaded"
    return entry.reason if entry is not None and failed else ""


def _refuse_if_failed(context: Context, entry: IndexEntry | None, model: str) -> None:
    """A reason that stood there before the load was sent tells nothing about it, unless it was LOADING meanwhile."""
    reason = _reason(entry)
    is_new = reason != context.recall("reason_before") or context.recall("was_loading")
    if entry is not None and reason and is_new:
        explanation = context.work.config_format.explain(reason)
        facts = asdict(explanation) if explanation else {}
        message = f"{context.work.server.name}: {model} {entry.version} did not come up"
        raise LoadRefused(message, reason=reason, **facts)


def _patience(context: Context, model: str, number: int) -> Wait:
    work = context.work
    if context.seconds_in_step() > work.load_deadline_s:
        raise LoadStuck(f"{work.server.name}: {model} version {number} is LOADING for over {work.load_deadline_s} s")
    return Wait(context.poll_s, f"{work.server.name} is loading {model} {number}")
