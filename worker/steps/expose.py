"""Send clients to the version: an unversioned request goes to the highest one loaded."""

from apps.deployments import plan, services
from apps.deployments.states import RolloutKind
from worker.context import Context
from worker.outcomes import Done, Outcome, Reroute
from worker.steps._switching import load_set


def run(context: Context) -> Outcome:
    """Leave exactly the final set loaded. Going up, the live load was the exposure already.

    A server that lost the version since this run loaded and verified it, by a restart, loads it again here.
    """
    work, new = context.work, context.new
    _, final = work.sets
    ready = context.ready_versions(work.model)
    if ready == final:
        return Done({"versions": sorted(final), "loads": 0})
    if new.number not in ready and not context.recall("sent") and "load" not in work.run.recipe:
        return _not_there(context)
    if not work.run.has_changed_server:
        services.note_change(work.run)
    waiting = load_set(context, new, final)
    if waiting is not None:
        return waiting
    return Done({"versions": sorted(final), "loads": 1})


def _not_there(context: Context) -> Outcome:
    """It was believed to be loaded and is not: a rollback loads it cold; letting go of a standby does nothing."""
    work, number = context.work, context.new.number
    if work.rollout.kind == RolloutKind.ROLLBACK:
        return Reroute(
            plan.recipe(
                RolloutKind.ROLLBACK,
                is_hot=False,
                has_passed_shadow=True,
                has_ensembles="ensembles" in work.run.recipe,
            ),
            f"{work.server.name}: version {number} is not loaded any more",
        )
    return Done({"versions": [], "loads": 0, "remark": f"version {number} is not loaded here; nothing was touched"})
