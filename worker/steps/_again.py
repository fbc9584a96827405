"""A server that restarts by itself between two steps comes back with what was live before: load the version again."""

from apps.deployments.errors import NotReadyInTime
from apps.serving.protocol import IndexEntry, Readiness
from worker.context import Context
from worker.outcomes import Wait
from worker.steps import _stamps
from worker.steps._bit_by_bit import forget
from worker.steps._loading import load_once

# Recipes that begin with one of these try nothing: they leave the final set.
SWITCHES = ("expose", "restore")


def have_loaded(context: Context) -> Wait | None:
    """None when the version is there, in whatever state; else have it loaded once more, and wait for that.

    Where nothing else is tried any more, what is loaded must be exactly the final set: a server that restarts in a
    rollback has the version that was rolled back, too, and would go on sending everybody to it.
    Once in a step: a version that is lost again and again may be what ends the server.
    """
    work, number = context.work, context.new.number
    entries, (tried, final) = context.entries(work.model), work.sets
    is_last = work.run.recipe[0] in SWITCHES
    if not (is_last or "load" in work.run.recipe):
        return None
    ready = {n for n, entry in entries.items() if entry.state == Readiness.READY}
    is_astray = is_last and number in ready and ready != final
    if not context.recall("sent") and not is_astray and not _is_lost(entries.get(number)):
        return None
    if context.recall("is_again"):
        raise NotReadyInTime(f"{work.server.name} lost {work.model} {number} twice while it was tried")
    versions = final if is_last else tried
    stamps = context.recall("stamps") or _stamps.read(work, versions)
    context.remember(stamps=stamps)
    waiting = load_once(context, work.model, work.config_of(context.new, versions), versions=versions, number=number)
    if waiting is not None:
        return waiting
    _stamps.keep(context, stamps)
    context.remember(is_again=True, sent=False)
    forget(context)
    return None


def _is_lost(entry: IndexEntry | None) -> bool:
    """Not there, or let go of; one that failed has its reason, and is the step's own matter."""
    return entry is None or (entry.state == Readiness.UNAVAILABLE and entry.reason in ("", "unloaded"))
