"""Memory in the course of a run: read before a change, and asked before one more version is loaded."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from apps.common.text import as_size
from apps.deployments import selectors, services
from apps.deployments.errors import MemoryShort
from apps.deployments.memory import Fit, Taken, does_fit, together
from apps.deployments.selectors import Work
from apps.deployments.states import RolloutKind, RunDirection
from apps.serving.memory import DeviceMemory, MemoryKind
from worker import memory
from worker.context import Context
from worker.outcomes import Outcome, Reroute, Wait

# Triton looks at its memory every 2 s by default: what has just been let go may still be counted.
LOOK_AGAIN_S = 3.0
# How long a load in a rollback may wait for what the server tells of its memory.
COLD_WAIT_S = 0.1
MAKE_ROOM = "make_room"
OPEN = "is_measured"
ITSELF = " beside itself under the configuration it has"

Needs = Mapping[tuple[int, MemoryKind], Taken]


def look_aside(context: Context) -> None:
    """Going back waits for nothing: begin to ask, while the step does what it does before it sends anything."""
    work = context.work
    if context.glance is None and _goes_back(context) and not context.recall("sent"):
        context.glance = memory.Glance(work.server, context.backend, work.home)


def note(context: Context) -> None:
    """Right before a load or unload is sent. Going back, what has not been told by now is not known."""
    work = context.work
    if context.glance is not None:
        # Beside a load this is nothing; a switch of milliseconds waits for none.
        wait_s = COLD_WAIT_S if "load" in work.run.recipe else 0.0
        memory.keep(work.server, context.glance.by_now(wait_s=wait_s), now=context.now)
    elif not (_goes_back(context) or _is_begun(work) or services.is_measuring(work.server)):
        before = memory.look(work.server, context.backend, work.home, context.index)
        if memory.keep(work.server, before, now=context.now):
            context.bear_in_mind(**{OPEN: True})


def _is_begun(work: Work) -> bool:
    """Whether this run has opened a reading: it stays open for as long as the run goes on."""
    return any(step.memory.get(OPEN) for step in work.steps.values())


def note_reconfiguring(context: Context) -> None:
    """The same before a load that brings another configuration for what is loaded."""
    work, number = context.work, context.new.number
    note(context)
    beside = next((other for other in work.sets[0] if other != number), None)
    services.note_reconfiguring(work.server, model=work.model, version=number, beside=beside)


def _goes_back(context: Context) -> bool:
    return context.work.rollout.is_going_back or context.work.run.direction != RunDirection.FORWARD


def find_room(context: Context, ready: Collection[int]) -> Outcome | dict[str, Any]:
    """What is known of the room for a load: a remark for people; or what to do first. MemoryShort without room.

    `ready` are the model's versions that serve there now.
    """
    work, coming = context.work, _coming(context, ready)
    if not coming:
        return {}
    number = coming[0]
    # What is healed or runs under another configuration keeps its standby: it is loaded along with it.
    kept = work.kept.number if work.kept and work.old and work.rollout.kind == RolloutKind.PROMOTE else None
    standby = kept if kept in ready and kept != number else None
    takes, is_alike = _at_once(work.takes, coming), _takes_as_much(work)
    if not is_alike or not any(one == number for one, _ in takes):
        under = "" if is_alike else " under such a configuration"
        return {"memory": f"unknown: no load of this version{under} was measured yet"}
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
    told = f"{work.server.name}: {work.model} {' with the standby '.join(map(str, coming))} {_told(need, devices)}"
    # Once only: a standby that does not unload must not be let go of for ever.
    if fit == Fit.DROPS_STANDBY and MAKE_ROOM not in work.run.recipe:
        return Reroute([MAKE_ROOM, *work.run.recipe], f"{told}: version {standby}, the standby, is let go of first")
    is_again = number in ready and work.replaced is not None
    beside = ITSELF if is_again else _beside(work, set(ready) - set(coming), standby)
    raise MemoryShort(
        f"{told}{beside}",
        server=work.server.name,
        needed_bytes=need.bytes_each,
        free_bytes=max(device.free_bytes for device in devices),
    )


def is_tight(context: Context) -> bool:
    """Whether two copies of the version do not fit at once: then the one aside must be gone before the other comes."""
    preflight = context.work.steps.get("preflight")
    return bool(preflight is not None and preflight.detail.get("is_tight"))


def _told(need: Taken, devices: tuple[DeviceMemory, ...]) -> str:
    where = f"{need.kind} memory" + (f" on each of {need.devices} cards" if need.devices > 1 else "")
    free = max(device.free_bytes for device in devices)
    return f"takes about {as_size(need.bytes_each)} of {where}, {as_size(free)} are free"


def _at_once(takes: Needs, coming: Sequence[int]) -> Needs:
    """The same, the first of those that come standing for all of them; what one takes that is not known is nothing."""
    found = dict(takes)
    for kind in MemoryKind:
        if (coming[0], kind) in takes:
            found[coming[0], kind] = together([takes[one, kind] for one in coming if (one, kind) in takes])
    return found


def _coming(context: Context, ready: Collection[int]) -> tuple[int, ...]:
    """The versions of which one more copy is loaded, the one that is meant first.

    Empty where there is none, or where nothing may hold it up.
    """
    work, number = context.work, context.new.number
    if work.rollout.kind == RolloutKind.PROMOTE:
        return (number,) if number not in ready or "shadow" in work.run.recipe else ()
    if work.rollout.kind == RolloutKind.RECONFIGURE:
        # The configuration is the model's: the standby comes up anew along with it.
        return (number, *sorted((work.sets[0] & set(ready)) - {number}))
    if work.rollout.kind == RolloutKind.HEAL:
        if number in ready and work.replaced is not None:
            return (number, *sorted(work.sets[0] - {number}))
        missing = work.sets[0] - set(ready)
        # Whatever becomes of the standby: the active version is what must be there.
        return (number,) if number in missing else tuple(sorted(missing)[:1])
    return ()


def _takes_as_much(work: Work) -> bool:
    """Whether what was measured holds under the configuration to come: fewer instances may be the very cure."""
    if work.replaced is None or work.new is None:
        return True
    return work.config_format.takes_as_much(work.replaced, work.new.config)


def _beside(work: Work, ready: set[int], standby: int | None) -> str:
    """What is in the way."""
    old = work.old.number if work.old else None
    beside = f" beside version {old}" if old in ready or (work.rollout.kind == RolloutKind.PROMOTE and old) else ""
    return f"{beside} and the standby {standby}" if standby else beside
