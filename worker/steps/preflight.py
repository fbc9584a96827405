"""Look before anything is touched: the server, the model's directory, what is loaded."""

from apps.deployments.errors import ModelServedUnplaced, PreflightFailed, StrangeEntries
from apps.deployments.states import RolloutKind
from apps.registry.inspection import subject_of
from apps.serving.errors import LoadStuck
from apps.serving.preflight import ServerFacts, Severity
from apps.serving.protocol import Readiness
from worker.context import Context
from worker.outcomes import Done, Outcome, Reroute, Wait
from worker.steps import _memory

# What brings a configuration that may never have run there.
ASKED = (RolloutKind.PROMOTE, RolloutKind.RECONFIGURE)


def run(context: Context) -> Outcome:
    """Refuse what would hang, end or surprise the server."""
    work, server = context.work, context.work.server.name
    strange = work.home.strange_entries(model=work.model)
    if strange:
        raise StrangeEntries(f"{server}: {work.model}/ holds {', '.join(map(repr, strange[:5]))}", entries=strange)
    if "publish" not in work.run.recipe and not work.home.has_version(model=work.model, version=context.new):
        recipe = [*work.run.recipe[:1], "publish", *work.run.recipe[1:]]
        return Reroute(recipe, f"{work.home.place}: {work.model}/{context.new.number} is not there")
    entries = context.entries(work.model)
    loading = sorted(n for n, entry in entries.items() if entry.state == Readiness.LOADING)
    if loading:
        if context.seconds_in_step() > work.load_deadline_s:
            raise LoadStuck(f"{server}: {work.model} version {loading[0]} was LOADING before this rollout and still is")
        return Wait(1, f"{server} is still loading {work.model} {loading[0]}")
    ready = {n for n, entry in entries.items() if entry.state == Readiness.READY}
    _refuse_unplaced(context, ready)
    free = work.home.free_bytes()
    _refuse_unfit(context, free)
    room = _memory.find_room(context, ready)
    if not isinstance(room, dict):
        return room
    return Done({"free_bytes": free, "loaded": sorted(ready), **room})


def _refuse_unfit(context: Context, free_disk_bytes: int | None) -> None:
    """What was known when it was asked for is looked at again. A rollback goes to what ran before: nothing stops it."""
    work, new = context.work, context.new
    if work.rollout.kind not in ASKED:
        return
    name, is_there = work.server.name, work.home.has_version(model=work.model, version=new)
    facts = ServerFacts(
        name,
        version=context.backend.describe().version,
        publishes=not is_there,
        free_disk_bytes=free_disk_bytes,
    )
    found = work.config_format.examine(subject_of(work.model, new.config, new.files, {}, server=facts))
    errors = [finding for finding in found if finding.severity == Severity.ERROR]
    if errors:
        documents = [finding.document() for finding in errors]
        raise PreflightFailed(f"{name}: {errors[0].message}", hint=errors[0].mend, findings=documents)


def _refuse_unplaced(context: Context, ready: set[int]) -> None:
    work = context.work
    if work.old is None and ready - {context.new.number} and "unplaced" not in work.confirmed:
        raise ModelServedUnplaced(
            f"{work.server.name} serves {work.model} {', '.join(map(str, sorted(ready)))}", versions=sorted(ready)
        )
