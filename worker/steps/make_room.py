"""Let go of the standby before a version is loaded that does not fit beside it; the policy allows it."""

from apps.serving.protocol import Readiness
from worker.context import Context
from worker.outcomes import Done, Outcome, Wait
from worker.steps._switching import load_set

# A model whose process died in a request is UNLOADING for ever; preflight looks at the memory after this anyway.
UNLOAD_S = 60.0


def run(context: Context) -> Outcome:
    """Name only the version that serves: it is not restarted. What is desired stays: a failed run's standby heals."""
    work = context.work
    standby = work.kept.number if work.kept else None
    ready = context.ready_versions(work.model)
    if work.old is None or standby is None or work.old.number not in ready:
        return Done({"remark": "there is no standby to let go of"})
    if standby in ready or context.recall("sent"):
        waiting = load_set(context, work.old, {work.old.number})
        if waiting is not None:
            return waiting
    entry = context.entries(work.model).get(standby)
    if entry is not None and entry.state != Readiness.UNAVAILABLE and context.seconds_in_step() < UNLOAD_S:
        return Wait(0.5, f"{work.server.name}: {work.model} {standby} is draining")
    return Done({"dropped": standby})
