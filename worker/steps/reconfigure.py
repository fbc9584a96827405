"""Run the same versions under another configuration: new instances come up beside the old, no request fails."""

from apps.deployments import services
from apps.serving.errors import LoadPending
from worker.context import Context
from worker.outcomes import Done, Outcome, Wait
from worker.steps import _applying, _memory, _neighbours, _stamps
from worker.steps._loading import let_go


def run(context: Context) -> Outcome:
    """Load once with the configuration wanted; a load that was sent twice starts nothing again.

    The index says READY all the while, because the old instances serve: only the configuration that the server tells
    of shows when a load that outlasted our patience has come to its end.
    """
    versions, _ = context.work.sets
    waiting = _look(context, versions) if context.recall("is_pending") else _send(context, versions)
    if waiting is not None:
        return waiting
    _stamps.keep(context, context.recall("stamps"))
    restarts = not context.work.is_harmless
    return Done({"versions": sorted(versions), "restarts": restarts, **_neighbours.told(context)})


def _send(context: Context, versions: set[int]) -> Wait | None:
    work = context.work
    if not context.recall("is_pending"):
        _memory.look_aside(context)
    stamps = context.recall("stamps") or _stamps.read(work, versions)
    context.remember(stamps=stamps, **_neighbours.before(context))
    if not work.run.has_changed_server:
        services.note_change(work.run)
    _memory.note_reconfiguring(context)
    try:
        with _neighbours.watched(context):
            context.load(work.model, work.config_of(context.new, versions), versions=versions)
    except LoadPending:
        context.remember(is_pending=True, **let_go(context))
        return _applying.patience(context)
    return None


def _look(context: Context, versions: set[int]) -> Wait | None:
    """What became of the load that outlasted our patience."""
    _neighbours.look_again(context)
    before = context.work.before
    if _applying.is_applied(context, was=before.config if before else {}):
        return None
    if not _applying.is_unheard(context):
        return _applying.patience(context)
    context.remember(is_sent_again=True)
    return _send(context, versions)
