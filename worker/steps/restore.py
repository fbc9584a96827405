"""Put back the version that was live before."""

from worker.context import Context
from worker.outcomes import Done, Outcome
from worker.steps import _memory
from worker.steps._switching import load_set


def run(context: Context) -> Outcome:
    """Name only the old version; where it never left, this takes milliseconds and restarts nothing."""
    work, old = context.work, context.new
    versions = {old.number}
    _memory.look_aside(context)
    if context.ready_versions(work.model) == versions and not context.recall("sent"):
        return Done({"versions": [old.number], "loads": 0})
    waiting = load_set(context, old, versions)
    if waiting is not None:
        return waiting
    return Done({"versions": [old.number], "loads": 1})
