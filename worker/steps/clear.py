"""Take away the shadow of a try that was stopped in the middle: from the server, then from the repository."""

from apps.common.names import shadow_of
from apps.serving.errors import LoadStuck, ServerUnreachable
from apps.serving.protocol import Readiness
from worker.context import PATIENCE_S, Context
from worker.outcomes import Done, Outcome, Wait
from worker.steps._cure import cure

# A server that is down this long has most likely ended, and its shadow with it.
DOWN_S = 30.0
# A model whose process died in a request is UNLOADING for ever: only a restart of the server ends that.
UNLOAD_S = 60.0


def run(context: Context) -> Outcome:
    """Done once neither the server nor the repository has the shadow; a server that is down is left to itself."""
    remark = ""
    try:
        waiting = _unload(context)
    except ServerUnreachable as error:
        if context.seconds_in_step() < DOWN_S:
            raise
        waiting, remark = None, f"not unloaded: {error.message}"
    if waiting is not None:
        return waiting
    context.work.home.remove_shadow(model=context.work.model)
    return Done({"remark": remark or context.recall("uncured", "")})


def _unload(context: Context) -> Wait | None:
    """A load that is under way is waited for: an unload would wait behind it, without telling how long."""
    work, name = context.work, shadow_of(context.work.model)
    entries = context.entries(name)
    if any(entry.state == Readiness.LOADING for entry in entries.values()):
        if context.seconds_in_step() > work.load_deadline_s:
            raise LoadStuck(f"{work.server.name}: {name} is LOADING for over {work.load_deadline_s} s")
        return Wait(0.5, f"{work.server.name} is still loading {name}")
    failed = next((number for number, entry in entries.items() if entry.reason not in {"", "unloaded"}), None)
    if failed is not None and not context.recall("is_cured"):
        context.remember(is_cured=True, uncured=cure(context, failed))
    if not context.recall("is_sent") or any(entry.state != Readiness.UNAVAILABLE for entry in entries.values()):
        sent_at_s = context.recall("sent_at_s", context.seconds_in_step())
        if context.seconds_in_step() - sent_at_s > min(UNLOAD_S, work.progress_deadline_s):
            context.remember(uncured=f"{work.server.name}: {name} does not unload; restart the server when convenient")
            return None
        context.remember(is_sent=True, sent_at_s=sent_at_s)
        context.backend.unload(name, timeout_s=PATIENCE_S)
        return Wait(0.3, f"{work.server.name}: {name} is unloading")
    return None
