"""Memory in words: of a server, and of a promotion's plan."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from apps.common.text import as_size, printable
from apps.console.shown.state import Chip

if TYPE_CHECKING:
    from apps.deployments.selectors import Leak, MemoryChange, ServerMemory
    from apps.deployments.services.planning import PlannedServer

MACHINE = "the whole machine, other processes too"
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ShownDevice:
    """One card, or the machine."""

    name: str
    used: str
    total: str
    free: str


@dataclass(frozen=True, slots=True)
class ShownChange:
    """One load or unload, and what it took."""

    at: datetime
    what: str
    moved: str
    remark: str


@dataclass(frozen=True, slots=True)
class ShownLeak:
    """What did not come back."""

    what: str
    missing: str
    since: datetime


@dataclass(frozen=True, slots=True)
class ShownMemory:
    """A server's memory as it was last read."""

    devices: tuple[ShownDevice, ...]
    at: datetime | None
    changes: tuple[ShownChange, ...]
    leaks: tuple[ShownLeak, ...]


def shown_memory(found: "ServerMemory") -> ShownMemory:
    """In words."""
    return ShownMemory(
        devices=tuple(
            ShownDevice(
                name=printable(one.device, limit=80) or MACHINE,
                used=as_size(one.used_bytes),
                total=as_size(one.total_bytes),
                free=as_size(one.free_bytes),
            )
            for one in found.devices
        ),
        at=found.at,
        changes=tuple(_change(one) for one in found.changes),
        leaks=tuple(_leak(one) for one in found.leaks),
    )


def _change(one: "MemoryChange") -> ShownChange:
    words = {"load": "loaded", "unload": "unloaded", "reconfigure": "under another configuration"}
    what = f"{one.model} {one.version} {words[one.action]}" if one.action in words else "several changes at once"
    sign = "" if one.moved_bytes is None else ("−" if one.moved_bytes < 0 else "+")
    moved = UNKNOWN if one.moved_bytes is None else f"{sign}{as_size(abs(one.moved_bytes))}"
    return ShownChange(one.at, what, moved, printable(one.remark, limit=300))


def _leak(one: "Leak") -> ShownLeak:
    return ShownLeak(f"{one.model} {one.version}", as_size(one.missing_bytes), one.since)


def planned_memory(server: "PlannedServer") -> Chip:
    """What the version takes on one server and whether it fits beside what is there."""
    if server.expected_bytes is None:
        return Chip(UNKNOWN, "mute", "no load of this version was measured yet; it stands in nobody's way")
    takes = as_size(server.expected_bytes)
    if server.free_bytes is None:
        return Chip(takes, "mute", "what is free there is unknown; it stands in nobody's way")
    told = f"{takes} of {as_size(server.free_bytes)} free"
    if server.memory == "drops_standby":
        return Chip(f"! {told}", "wait", "it does not fit beside the standby, which is let go of first")
    if server.memory == "short":
        return Chip(f"! {told}", "bad", "it does not fit: preflight will refuse it")
    return Chip(told, "ok" if server.memory == "fits" else "mute", "as it was last read")
