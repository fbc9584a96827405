"""Run the same versions under another configuration: new instances come up beside the old, no request fails."""

from apps.deployments import services
from apps.serving.errors import LoadPending, LoadStuck
from worker.context import Context
from worker.outcomes import Done, Outcome, Wait
from worker.steps import _memory, _neighbours, _stamps


def run(context: Context) -> Outcome:
    """Load once with the configuration wanted; a load that was sent twice starts nothing again.

    The index says READY all the while, because the old instances serve: only the configuration that the server tells
    of shows when a load that outlasted our patience has come to its end.
    """
    work, new = context.work, context.new
    versions, _ = work.sets
    if context.recall("is_pending"):
        _neighbours.look_again(context)
        waiting = _look(context)
        if waiting is not None:
            return waiting
    else:
        stamps = _stamps.read(work, versions)
        context.remember(stamps=stamps, **_neighbours.before(context))
        if not work.run.has_changed_server:
            services.note_change(work.run)
        _memory.note(context)
        try:
            with _neighbours.watched(context):
                context.load(work.model, work.config_of(new, versions), versions=versions)
        except LoadPending:
            context.remember(is_pending=True)
            return Wait(context.poll_s, f"{work.server.name} brings {work.model} up under another configuration")
    _stamps.keep(context, context.recall("stamps"))
    return Done({"versions": sorted(versions), "restarts": not work.is_harmless, **_neighbours.told(context)})


def _look(context: Context) -> Wait | None:
    work, new = context.work, context.new
    running = context.backend.configuration(work.model, new.number)
    was = work.before.config if work.before else {}
    if work.config_format.is_applied(running, was=was, wanted=new.config):
        return None
    if context.seconds_in_step() > work.load_deadline_s:
        raise LoadStuck(
            f"{work.server.name}: {work.model} has not taken its new configuration for over {work.load_deadline_s} s; "
            "it still serves under the old one"
        )
    return Wait(context.poll_s, f"{work.server.name} brings {work.model} up under another configuration")
