"""Take a model off a server, and wait until it is gone: the server's answer comes before the work is done."""

from apps.deployments import services
from apps.serving.errors import UnloadStuck
from apps.serving.protocol import Readiness
from worker.context import PATIENCE_S, Context
from worker.outcomes import Done, Outcome, Wait
from worker.steps import _memory


def run(context: Context) -> Outcome:
    """Requests in flight are answered first; meanwhile the index says UNLOADING."""
    work = context.work
    _memory.look_aside(context)
    if not context.recall("sent"):
        _memory.note(context)
        context.remember(sent=True)
        services.note_change(work.run)
        context.backend.unload(work.model, timeout_s=PATIENCE_S)
    left = [n for n, entry in context.entries(work.model).items() if entry.state != Readiness.UNAVAILABLE]
    if not left:
        return Done()
    if context.seconds_in_step() > work.progress_deadline_s:
        raise UnloadStuck(
            f"{work.server.name}: {work.model} {left[0]} has been draining for {work.progress_deadline_s} s"
        )
    if any(n in context.ready_versions(work.model) for n in left):
        context.remember(sent=False)
    return Wait(0.5, f"{work.server.name}: {work.model} {left[0]} is draining")
