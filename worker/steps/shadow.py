"""Try the version aside, under a name no client knows: load, warm, check the golden answers, compare, unload.

A version that is wrong or does not start never serves one request, and only inputs that ran here go into
the live load's warm-up. The phases are remembered, so a killed worker goes on where it was:
`load` -> `warm` -> `unload`, or on any failure `cure` -> `unload`.
"""

from typing import Any

from apps.common.errors import ControlPlaneError
from apps.common.keeping import error_document
from apps.common.names import shadow_of
from apps.deployments.errors import GoldenMismatch, ShadowFailed, ShadowTooSlow, ShadowUnmeasured, WarmupFailed
from apps.deployments.selectors import Work
from apps.serving.errors import LoadRefused, LoadStuck
from apps.serving.protocol import Readiness
from worker.context import PATIENCE_S, Context
from worker.outcomes import Done, Outcome, Wait
from worker.steps import _memory
from worker.steps._comparing import compare
from worker.steps._cure import cure
from worker.steps._loading import load_once
from worker.steps._requests import try_out

# Measured: 1.4 s. Longer than this, something else keeps the server from being ready.
STAND_IN_GONE_S = 10.0
# Longer than any request of ours, on which an unload waits.
UNLOAD_S = 60.0


def run(context: Context) -> Outcome:
    """Every phase can be repeated; the first failure is kept, cleaned up after, then told."""
    phase = context.recall("phase", "load")
    if phase == "load":
        outcome = _load(context)
        if outcome is not None:
            return outcome
    if context.recall("phase") == "warm":
        waiting = _warm(context)
        if waiting is not None:
            return waiting
    if context.recall("phase") == "cure":
        context.remember(
            uncured=cure(context, context.new.number), cured_at_s=context.seconds_in_step(), phase="unload"
        )
    return _unload(context)


def _load(context: Context) -> Wait | None:
    work, new = context.work, context.new
    config = _config(work, new.config, new.number)
    try:
        text = work.config_format.render(config)
        work.home.stage_shadow(model=work.model, number=new.number, config_text=text)
        waiting = load_once(context, shadow_of(work.model), config, versions={new.number}, number=new.number)
    except LoadRefused as error:
        _fail(context, error, phase="cure")
        return None
    except LoadStuck as error:
        _fail(context, error, phase="unload")
        return None
    if waiting is None:
        # A worker that is lost before this is kept finds the version loaded, and is here again.
        context.bear_in_mind(phase="warm")
    return waiting


def _config(work: Work, config: Any, number: int) -> dict[str, Any]:
    """Without any warm-up: one that raises inside a load can end the whole server."""
    return work.config_format.effective(config, name=shadow_of(work.model), versions=[number], warmup=[])


def _warm(context: Context) -> Wait | None:
    name, number = shadow_of(context.work.model), context.new.number
    try:
        tried = try_out(context, name, number)
        if isinstance(tried, Wait):
            return tried
        warmth, golden = tried
        load = context.work.policy.shadow.load
        compared = compare(context, name, load) if load is not None else {}
    except (WarmupFailed, GoldenMismatch, ShadowTooSlow, ShadowUnmeasured) as error:
        _fail(context, error, phase="unload")
        return None
    entries = context.work.config_format.zero_warmup(context.new.config) if warmth.takes_zeros else []
    # As above: a worker that is lost before this is kept warms the version once more; it compares only once.
    keep = context.remember if compared else context.bear_in_mind
    keep(
        phase="unload",
        detail={**golden, "latencies_us": warmth.latencies_us, "warmup": entries, "remark": warmth.remark} | compared,
    )
    return None


def _fail(context: Context, error: ControlPlaneError, *, phase: str) -> None:
    context.remember(error=error_document(error), phase=phase)


def _unload(context: Context) -> Outcome:
    work, name = context.work, shadow_of(context.work.model)
    failed = context.recall("error")
    if not _is_stuck(context):
        context.backend.unload(name, timeout_s=PATIENCE_S)
        if not failed and not (_memory.is_tight(context) and _is_left(context, name)):
            # It goes on unloading while the live load begins: nobody needs to wait for that, where both fit.
            return _passed(context)
        if _is_left(context, name) and _is_soon(context):
            return Wait(0.2, f"{work.server.name}: {name} is unloading")
        if not failed:
            return _passed(context)
        if _is_stand_in_there(context):
            return Wait(0.3, f"{work.server.name}: the stand-in is unloading")
    if not _is_stuck(context):
        # One that hangs keeps its directory: a server lists only what has one, and would hang unseen.
        work.home.remove_shadow(model=work.model)
    raise _told(context, failed)


def _passed(context: Context) -> Done:
    """The last one takes the directory away; where two are last at once, persist does."""
    work = context.work
    if not work.is_shadow_shared:
        work.home.remove_shadow(model=work.model)
    return Done(context.recall("detail", {}))


def _is_left(context: Context, name: str) -> bool:
    return any(entry.state != Readiness.UNAVAILABLE for entry in context.entries(name).values())


def _is_soon(context: Context) -> bool:
    """A model whose process died in a request is UNLOADING for ever: only a restart of the server ends that."""
    since_s = context.recall("unloading_since_s")
    if since_s is None:
        since_s = context.seconds_in_step()
        context.remember(unloading_since_s=since_s)
    patience_s = min(UNLOAD_S, context.work.progress_deadline_s)
    return bool(context.seconds_in_step() - since_s < patience_s)


def _is_stand_in_there(context: Context) -> bool:
    """An inline model is not in the index: only a strict server's readiness tells that it is still going."""
    cured_at_s = context.recall("cured_at_s")
    in_time = cured_at_s is not None and context.seconds_in_step() - cured_at_s < STAND_IN_GONE_S
    return in_time and not context.backend.is_server_ready()


def _is_stuck(context: Context) -> bool:
    return bool(context.recall("error", {}).get("code") == LoadStuck.code)


def _told(context: Context, failed: dict[str, Any]) -> ShadowFailed:
    old = context.work.old
    serving = f"version {old.number} still serves" if old else "nothing was changed"
    return ShadowFailed(
        f"{failed['message']} ({serving})",
        hint=failed["hint"],
        reason=failed.get("reason", ""),
        cause=failed["code"],
        # What the server's words mean, where they are known: {cause, meaning}.
        **{f"load_{name}": value for name, value in failed.get("facts", {}).items() if name in ("cause", "meaning")},
    )
