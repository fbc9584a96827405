"""Wait for the version's own readiness; the server's lies both ways."""

from apps.deployments.errors import NotReadyInTime
from apps.serving.protocol import Readiness
from worker.context import Context
from worker.outcomes import Done, Outcome, Wait
from worker.steps._again import have_loaded

DEADLINE_S = 60.0


def run(context: Context) -> Outcome:
    """The index must name exactly this number as READY, and the version itself must say so."""
    work, number = context.work, context.new.number
    waiting = have_loaded(context)
    if waiting is not None:
        return waiting
    if context.backend.is_ready(work.model, number) and _is_listed(context, number):
        return Done({"version": number})
    if context.seconds_in_step() > DEADLINE_S:
        states = {n: f"{e.state} {e.reason}".strip() for n, e in context.entries(work.model).items()}
        raise NotReadyInTime(f"{work.server.name}: {work.model} {number} is not ready; the index says {states}")
    return Wait(0.3, f"{work.server.name}: {work.model} {number} is not ready yet")


def _is_listed(context: Context, number: int) -> bool:
    entry = context.entries_seen(context.work.model).get(number)
    return entry is not None and entry.state == Readiness.READY
