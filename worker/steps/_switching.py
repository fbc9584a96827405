"""Having exactly some versions of the live model loaded, and knowing afterwards whether they stay hot."""

from collections.abc import Collection

from apps.deployments.selectors import Candidate
from worker.context import Context
from worker.outcomes import Wait
from worker.steps import _stamps
from worker.steps._loading import load_once


def load_set(context: Context, candidate: Candidate, versions: Collection[int]) -> Wait | None:
    """Load exactly `versions` under the candidate's configuration; None once that is so, else what is waited for.

    The stamps are those from before the load was sent: a model writes into its own directory while it loads.
    """
    work = context.work
    stamps = context.recall("stamps") or _stamps.read(work, versions)
    config = work.config_of(candidate, set(versions))
    waiting = load_once(
        context, work.model, config, versions=versions, number=candidate.number, keeping={"stamps": stamps}
    )
    if waiting is None:
        _stamps.keep(context, stamps)
    return waiting
