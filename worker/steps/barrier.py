"""Wait until every version of the release has passed its shadow everywhere, and an ensemble's members are ready."""

from apps.deployments import selectors, services
from worker.context import POLL_EACH_S, Context
from worker.outcomes import Done, Outcome, Wait

POLL_S = 1.0


def run(context: Context) -> Outcome:
    """Nothing is touched; a release that goes back takes its runs away from here.

    The last to come wakes the others, so they need not ask often: each of them counts all runs.
    """
    work = context.work
    missing = selectors.barrier_waits_for(work.run)
    if missing:
        return Wait(max(POLL_S, work.at_once * POLL_EACH_S), missing)
    services.wake_at_barrier(work.run, now=context.now)
    return Done()
