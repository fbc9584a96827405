"""Put back the version that was live before."""

from worker.context import Context
from worker.outcomes import Done, Outcome
from worker.steps import _stamps
from worker.steps._loading import load_once


def run(context: Context) -> Outcome:
    """Name only the old version; where it never left, this takes milliseconds and restarts nothing."""
    work, old = context.work, context.new
    versions = {old.number}
    if context.ready_versions(work.model) == versions and not context.recall("sent"):
        return Done({"versions": [old.number], "loads": 0})
    stamps = _stamps.read(work, versions)
    waiting = load_once(context, work.model, work.config_of(old, versions), versions=versions, number=old.number)
    if waiting is not None:
        return waiting
    _stamps.keep(context, stamps)
    return Done({"versions": [old.number], "loads": 1})
