"""Send clients to the version: an unversioned request goes to the highest one loaded."""

from dataclasses import asdict
from typing import Any

from apps.deployments import plan, services
from apps.deployments.states import RolloutKind
from worker.context import Context
from worker.outcomes import Done, Outcome, Reroute
from worker.steps import _memory
from worker.steps._proof import prove
from worker.steps._switching import load_set


def run(context: Context) -> Outcome:
    """Leave exactly the final set loaded. Going up, the live load was the exposure already.

    A server that lost the version since this run loaded and verified it, by a restart, loads it again here. A rollback
    to a version that was kept hot asks it first: nothing else tells whether it still answers.
    """
    work, new = context.work, context.new
    _, final = work.sets
    _memory.look_aside(context)
    ready = context.ready_versions(work.model)
    if ready == final:
        return Done({"versions": sorted(final), "loads": 0})
    if new.number not in ready and not context.recall("sent") and "load" not in work.run.recipe:
        return _not_there(context)
    if work.rollout.kind == RolloutKind.ROLLBACK and "load" not in work.run.recipe and not context.recall("proof"):
        context.remember(proof=asdict(prove(context)))
    proof = context.recall("proof", {})
    if not work.run.has_changed_server:
        services.note_change(work.run)
    if proof.get("failure"):
        return _dead(context, proof["failure"])
    waiting = load_set(context, new, final)
    if waiting is not None:
        return waiting
    return Done({"versions": sorted(final), "loads": 1, **_said(proof)})


def _said(proof: dict[str, Any]) -> dict[str, Any]:
    """What people read of the request that was made first."""
    return {name: proof[name] for name in ("latency_us", "remark") if proof.get(name)}


def _dead(context: Context, failure: str) -> Outcome:
    """It is READY and answers nothing. Naming it again would start nothing: it is let go of, then loaded cold."""
    work, new = context.work, context.new
    if work.old is not None and work.old.number != new.number:
        waiting = load_set(context, work.old, {work.old.number})
        if waiting is not None:
            return waiting
    return _cold(context, f"{work.server.name}: version {new.number} was hot and does not answer: {failure}")


def _not_there(context: Context) -> Outcome:
    """It was believed to be loaded and is not: a rollback loads it cold; letting go of a standby does nothing."""
    work, number = context.work, context.new.number
    if work.rollout.kind == RolloutKind.ROLLBACK:
        return _cold(context, f"{work.server.name}: version {number} is not loaded any more")
    return Done({"versions": [], "loads": 0, "remark": f"version {number} is not loaded here; nothing was touched"})


def _cold(context: Context, why: str) -> Reroute:
    has_ensembles = "ensembles" in context.work.run.recipe
    recipe = plan.recipe(RolloutKind.ROLLBACK, is_hot=False, has_passed_shadow=True, has_ensembles=has_ensembles)
    return Reroute(recipe, why)
