"""Load the new version live, beside the old one where both agree, warmed inside the load."""

from apps.deployments import services
from worker.context import Context
from worker.outcomes import Done, Outcome
from worker.steps._switching import load_set


def run(context: Context) -> Outcome:
    """The old version is named in the load and keeps serving; the new one is READY only once warm."""
    work, new = context.work, context.new
    versions, _ = work.sets
    if not work.run.has_changed_server:
        services.note_change(work.run)
    waiting = load_set(context, new, versions)
    if waiting is not None:
        return waiting
    return Done(
        {
            "versions": sorted(versions),
            **({"beside": work.stands_beside} if work.old else {}),
            "warm_up_requests": len(new.warmup or []),
        }
    )
