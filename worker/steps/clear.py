"""Take away the shadow of a try that was stopped in the middle: from the server, then from the repository."""

from apps.common.names import shadow_of
from apps.fleet import repositories
from apps.serving.errors import LoadStuck
from apps.serving.protocol import Readiness
from worker.context import PATIENCE_S, Context
from worker.outcomes import Done, Outcome, Wait
from worker.steps._cure import cure


def run(context: Context) -> Outcome:
    """A load that is under way is waited for: an unload would wait behind it, without telling how long."""
    work, name = context.work, shadow_of(context.work.model)
    entries = context.entries(name)
    if any(entry.state == Readiness.LOADING for entry in entries.values()):
        if context.seconds_in_step() > work.load_deadline_s:
            raise LoadStuck(f"{work.server.name}: {name} is LOADING for over {work.load_deadline_s} s")
        return Wait(0.5, f"{work.server.name} is still loading {name}")
    if any(entry.state != Readiness.UNAVAILABLE for entry in entries.values()):
        context.backend.unload(name, timeout_s=PATIENCE_S)
        return Wait(0.3, f"{work.server.name}: {name} is unloading")
    failed = next((n for n, entry in entries.items() if entry.reason not in ("", "unloaded")), None)
    if failed is not None and not context.recall("is_cured"):
        context.remember(is_cured=True, uncured=cure(context, failed))
        context.backend.unload(name, timeout_s=PATIENCE_S)
    repositories.remove_shadow(work.root, model=work.model)
    return Done({"remark": context.recall("uncured", "")})
