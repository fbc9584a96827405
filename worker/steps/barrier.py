"""Wait until every version of the release has passed its shadow everywhere, and an ensemble's members are ready."""

from apps.deployments import selectors
from worker.context import Context
from worker.outcomes import Done, Outcome, Wait

POLL_S = 1.0


def run(context: Context) -> Outcome:
    """Nothing is touched; a release that goes back takes its runs away from here."""
    missing = selectors.barrier_waits_for(context.work.run)
    return Wait(POLL_S, missing) if missing else Done()
