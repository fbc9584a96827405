"""What loads and unloads do to a server's memory, and whether one more fits. Pure: same readings, same answer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Any

from apps.serving.memory import DeviceMemory, MemoryKind

MIB = 2**20
# Triton looks at its memory every 2 s by default, and an unload answers before it is done.
SETTLES_IN_S = 6
# A card's figure moves a little by itself; a machine's by everything else that runs there, and by its page cache.
GPU_NOISE, MACHINE_NOISE, MACHINE_NOISE_SHARE = 32 * MIB, 256 * MIB, 0.02
# Of what a version takes, as much may stay with a runtime without being called a leak.
LEAK_SHARE = 0.25
# The machine's figure proves nothing once: as many readings must agree.
MACHINE_READINGS = 2


class Action(StrEnum):
    """What made the difference between two readings; `MIXED` where more than one version came, went or changed."""

    LOAD = "load"
    UNLOAD = "unload"
    RECONFIGURE = "reconfigure"
    MIXED = "mixed"


class Fit(StrEnum):
    """Whether a version's load fits beside what is loaded."""

    UNKNOWN = "unknown"
    FITS = "fits"
    DROPS_STANDBY = "drops_standby"
    SHORT = "short"


@dataclass(frozen=True, slots=True)
class Taken:
    """What one version takes: so many bytes on each of so many devices."""

    kind: MemoryKind
    bytes_each: int
    devices: int = 1

    @property
    def total_bytes(self) -> int:
        """On all of them."""
        return self.bytes_each * self.devices


@dataclass(frozen=True, slots=True)
class Change:
    """Memory before and after exactly one version came or went."""

    action: Action
    before: tuple[DeviceMemory, ...]
    after: tuple[DeviceMemory, ...]


def document(devices: Iterable[DeviceMemory]) -> list[dict[str, Any]]:
    """As a row keeps them."""
    return [
        {"kind": one.kind, "device": one.device, "used": one.used_bytes, "total": one.total_bytes} for one in devices
    ]


def devices_of(kept: Iterable[Mapping[str, Any]]) -> tuple[DeviceMemory, ...]:
    """As they were kept."""
    return tuple(DeviceMemory(MemoryKind(one["kind"]), one["device"], one["used"], one["total"]) for one in kept)


def noise(device: DeviceMemory) -> int:
    """The bytes by which its figure moves without us."""
    if device.kind == MemoryKind.GPU:
        return GPU_NOISE
    return max(MACHINE_NOISE, int(device.total_bytes * MACHINE_NOISE_SHARE))


def difference(was: Iterable[Sequence[Any]], now: Iterable[Sequence[Any]]) -> tuple[Action, str, int]:
    """What came or went between two lists of [model, version]; without a name where it was not exactly one."""
    before, after = ({(str(model), int(number)) for model, number in side} for side in (was, now))
    came, went = after - before, before - after
    if len(came) == 1 and not went:
        return Action.LOAD, *came.pop()
    if len(went) == 1 and not came:
        return Action.UNLOAD, *went.pop()
    return Action.MIXED, "", 0


def taken(change: Change) -> Taken | None:
    """What the version took, or gave back; None where that is within the noise or other devices were told."""
    moved = _moved(change)
    if not moved or change.action not in (Action.LOAD, Action.UNLOAD):
        return None
    sign = -1 if change.action == Action.UNLOAD else 1
    felt = [sign * by for device, by in moved if sign * by > noise(device)]
    return Taken(change.before[0].kind, max(felt), len(felt)) if felt else None


def shifted(change: Change) -> int | None:
    """By how much use rose on all devices that felt it, below 0 where it fell; None where that is within the noise."""
    felt = [by for device, by in _moved(change) if abs(by) > noise(device)]
    return sum(felt) if felt else None


def expected(changes: Iterable[Change], kind: MemoryKind) -> Taken | None:
    """What a version is expected to take, from its latest changes: loads, else unloads. None is unknown."""
    found = [(change.action, told) for change in changes if (told := taken(change)) and told.kind == kind]
    loads = [told for action, told in found if action == Action.LOAD]
    readings = loads or [told for _, told in found]
    if not readings or (kind == MemoryKind.MACHINE and not _agree(readings)):
        return None
    each = int(median(told.bytes_each for told in readings))
    return Taken(kind, each, max(told.devices for told in readings))


def judge(
    need: Taken | None,
    devices: Sequence[DeviceMemory],
    *,
    standby: Taken | None = None,
    has_standby: bool = False,
    may_drop: bool = False,
) -> Fit:
    """Whether the need fits; if not, whether letting go of the standby first may help. Unknown never says no.

    What the standby takes may be unknown: then it is worth trying.
    """
    if need is None or not devices or devices[0].kind != need.kind:
        return Fit.UNKNOWN
    free = [device.free_bytes for device in devices]
    if does_fit(need, free):
        return Fit.FITS
    if not has_standby or not may_drop:
        return Fit.SHORT
    gives = need.bytes_each if standby is None or standby.kind != need.kind else standby.bytes_each
    return Fit.DROPS_STANDBY if does_fit(need, [bytes_free + gives for bytes_free in free]) else Fit.SHORT


def together(needs: Sequence[Taken]) -> Taken:
    """What versions take that are loaded at once, all of one kind of memory, as if on the same devices."""
    return Taken(needs[0].kind, sum(one.bytes_each for one in needs), max(one.devices for one in needs))


def does_fit(need: Taken, free: Sequence[int], *, times: int = 1) -> bool:
    """Whether the freest devices have room; on which of them a server puts a model is not known."""
    ranked = sorted(free, reverse=True)[: need.devices]
    return bool(ranked) and ranked[-1] >= need.bytes_each * times


def leaked(unload: Change, took: Taken | None, later: Iterable[Sequence[DeviceMemory]]) -> int:
    """The bytes that did not come back; 0 where they did, then or later, or where nothing is known."""
    moved = _moved(unload)
    if took is None or not moved or unload.action != Action.UNLOAD or took.kind != unload.before[0].kind:
        return 0
    missing = took.total_bytes - sum(max(0, -by) for _, by in moved)
    slack = sum(noise(device) for device, _ in moved)
    if missing <= max(slack, took.total_bytes * LEAK_SHARE):
        return 0
    floor = sum(one.used_bytes for one in unload.before) - took.total_bytes + slack
    came_back = any(_same(unload.before, told) and sum(one.used_bytes for one in told) <= floor for told in later)
    return 0 if came_back else missing


def _moved(change: Change) -> list[tuple[DeviceMemory, int]]:
    """By how much each device's use rose; nothing where before and after tell of different ones."""
    if not change.before or not _same(change.before, change.after):
        return []
    after = {one.device: one.used_bytes for one in change.after}
    return [(one, after[one.device] - one.used_bytes) for one in change.before]


def _same(these: Sequence[DeviceMemory], those: Sequence[DeviceMemory]) -> bool:
    return {(one.kind, one.device) for one in these} == {(one.kind, one.device) for one in those}


def _agree(readings: Sequence[Taken]) -> bool:
    """Whether there are enough, and none is far from the middle."""
    middle = median(told.bytes_each for told in readings)
    near = [told for told in readings if abs(told.bytes_each - middle) <= middle / 4]
    return len(readings) >= MACHINE_READINGS and len(near) == len(readings)
