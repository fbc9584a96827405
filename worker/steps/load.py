"""Load the new version live, beside the old one where both agree, warmed inside the load."""

from collections.abc import Collection

from apps.deployments import services
from apps.deployments.states import RolloutKind
from worker.context import Context
from worker.outcomes import Done, Outcome, Wait
from worker.steps import _applying, _neighbours
from worker.steps._switching import load_set


def run(context: Context) -> Outcome:
    """The old version is named in the load and keeps serving; the new one is READY only once warm."""
    work, new = context.work, context.new
    versions, _ = work.sets
    waiting = _still_under_another(context, versions) if work.rollout.kind == RolloutKind.HEAL else None
    if waiting is not None:
        return waiting
    if not work.run.has_changed_server:
        services.note_change(work.run)
    waiting = load_set(context, new, versions)
    if waiting is not None:
        return waiting
    return Done(
        {
            "versions": sorted(versions),
            **({"beside": work.stands_beside} if work.old else {}),
            "warm_up_requests": len(new.warmup or []),
            **_neighbours.told(context),
        }
    )


def _still_under_another(context: Context, versions: Collection[int]) -> Wait | None:
    """A heal may load what is up under another configuration: the index says READY before that load is done."""
    if context.recall("was_up") is None:
        context.remember(was_up=context.ready_versions(context.work.model) == set(versions))
    is_sent = context.recall("sent") and context.recall("was_up")
    if not is_sent or _applying.is_applied(context, was={}):
        return None
    if not _applying.is_unheard(context):
        return _applying.patience(context)
    context.remember(sent=False, is_sent_again=True)
    return None
