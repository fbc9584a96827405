"""Memory in the course of a run: read before a change, and asked before one more version is loaded."""

from collections.abc import Collection
from typing import Any

from apps.common.text import as_size
from apps.deployments import selectors
from apps.deployments.errors import MemoryShort
from apps.deployments.memory import Fit, Taken, does_fit
from apps.deployments.states import RolloutKind, RunDirection
from apps.serving.memory import DeviceMemory
from worker import memory
from worker.context import Context
from worker.outcomes import Outcome, Reroute, Wait

# Triton looks at its memory every 2 s by default: what has just been let go may still be counted.
LOOK_AGAIN_S = 3.0
MAKE_ROOM = "make_room"


def note(context: Context) -> None:
    """Right before a load or unload is sent. Going back waits for nothing, so nothing is read there."""
    work = context.work
    if work.run.direction != RunDirection.FORWARD or work.rollout.is_going_back:
        return
    memory.begin(work.server, context.backend, now=context.now)


def find_room(context: Context, ready: Collection[int]) -> Outcome | dict[str, Any]:
    """What is known of the room for a promotion: a remark for people; or what to do first. MemoryShort without room.

    `ready` are the model's versions that serve there now.
    """
    work, number = context.work, context.new.number
    if work.rollout.kind != RolloutKind.PROMOTE or (number in ready and "shadow" not in work.run.recipe):
        return {}
    kept = work.kept.number if work.kept and work.old else None
    standby = kept if kept in ready and kept != number else None
    takes = selectors.expectations(work.model, {number} | ({standby} if standby else set()))
    if not any(one == number for one, _ in takes):
        return {"memory": "unknown: no load of this version was measured yet"}
    devices = memory.devices_now(work.server, context.backend)
    fit = selectors.room_for(devices, takes, number, standby=standby, may_drop=work.policy.drop_standby)
    if fit == Fit.UNKNOWN:
        return {"memory": "unknown: the server does not tell its memory, or another kind than was measured"}
    need = takes[number, devices[0].kind]
    if fit == Fit.FITS:
        free = [device.free_bytes for device in devices]
        return {"memory": _told(need, devices), "is_tight": not does_fit(need, free, times=2)}
    if not context.recall("has_looked"):
        context.remember(has_looked=True)
        return Wait(LOOK_AGAIN_S, f"{work.server.name} is short of memory; looking again")
    told = f"{work.server.name}: {work.model} {number} {_told(need, devices)}"
    # Once only: a standby that does not unload must not be let go of for ever.
    if fit == Fit.DROPS_STANDBY and MAKE_ROOM not in work.run.recipe:
        return Reroute([MAKE_ROOM, *work.run.recipe], f"{told}: version {standby}, the standby, is let go of first")
    raise MemoryShort(
        f"{told}{_beside(context, standby)}",
        server=work.server.name,
        needed_bytes=need.bytes_each,
        free_bytes=max(device.free_bytes for device in devices),
    )


def is_tight(context: Context) -> bool:
    """Whether two copies of the version do not fit at once: then the one aside must be gone before the other comes."""
    details = context.work.run.steps.filter(name="preflight").values_list("detail", flat=True)
    return bool((details.first() or {}).get("is_tight"))


def _told(need: Taken, devices: tuple[DeviceMemory, ...]) -> str:
    where = f"{need.kind} memory" + (f" on each of {need.devices} cards" if need.devices > 1 else "")
    free = max(device.free_bytes for device in devices)
    return f"takes about {as_size(need.bytes_each)} of {where}, {as_size(free)} are free"


def _beside(context: Context, standby: int | None) -> str:
    """What is in the way."""
    old = context.work.old
    beside = f" beside version {old.number}" if old else ""
    return f"{beside} and the standby {standby}" if standby else beside
