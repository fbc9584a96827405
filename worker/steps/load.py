"""Load the new version live, beside the old one where both agree, warmed inside the load."""

from apps.deployments import services
from worker.context import Context
from worker.outcomes import Done, Outcome
from worker.steps import _stamps
from worker.steps._loading import load_once


def run(context: Context) -> Outcome:
    """The old version is named in the load and keeps serving; the new one is READY only once warm."""
    work, new = context.work, context.new
    versions, _ = work.sets
    stamps = context.recall("stamps") or _stamps.read(work, versions)
    context.remember(stamps=stamps)
    if not work.run.has_changed_server:
        services.note_change(work.run)
    waiting = load_once(context, work.model, work.config_of(new, versions), versions=versions, number=new.number)
    if waiting is not None:
        return waiting
    _stamps.keep(context, stamps)
    return Done(
        {
            "versions": sorted(versions),
            "beside": work.stands_beside,
            "warm_up_requests": len(new.warmup or []),
        }
    )
