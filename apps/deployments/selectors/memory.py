"""What is known of memory: what versions take, what servers have left, what did not come back."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from apps.deployments.memory import (
    SETTLES_IN_S,
    Action,
    Change,
    Fit,
    Taken,
    devices_of,
    expected,
    judge,
    leaked,
    shifted,
    taken,
)
from apps.deployments.models import MemoryReading, Placement, Run
from apps.deployments.states import ACTIVE_RUN
from apps.fleet.models import Server
from apps.registry.models import Version
from apps.serving.memory import DeviceMemory, MemoryKind

# Readings of one version that its expectation rests on, and changes of one server that are looked at for leaks.
READINGS, CHANGES = 12, 200
Expectations = Mapping[tuple[int, MemoryKind], Taken]

# Each reading costs a few calls of a server: so many in a sweep are in nobody's way.
MOST_READ_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Room:
    """Whether one version fits on one server, by what was last read there; None is unknown."""

    need: Taken | None = None
    free_bytes: int | None = None
    at: datetime | None = None
    fit: Fit = Fit.UNKNOWN


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """One kept change: what it took (or gave back, below 0); None where the figures do not tell."""

    at: datetime
    action: str
    model: str
    version: int
    moved_bytes: int | None
    remark: str


@dataclass(frozen=True, slots=True)
class Leak:
    """Memory that an unload did not give back, as far as has been seen since."""

    model: str
    version: int
    missing_bytes: int
    since: datetime


@dataclass(frozen=True, slots=True)
class ServerMemory:
    """One server's memory as it was last read, newest changes first; no devices: unknown."""

    devices: tuple[DeviceMemory, ...]
    at: datetime | None
    changes: tuple[MemoryChange, ...]
    leaks: tuple[Leak, ...]


def due_readings(now: datetime) -> list[int]:
    """Some of the open readings of servers where no rollout has done anything for some seconds.

    After a rollout over a thousand servers there are as many: nothing waits for them, so they take turns.
    """
    lately = now - timedelta(seconds=SETTLES_IN_S)
    busy = Run.objects.filter(server=OuterRef("server")).filter(
        Q(state__in=ACTIVE_RUN, started_at__isnull=False) | Q(finished_at__gt=lately)
    )
    found = MemoryReading.objects.filter(~Exists(busy), ended_at=None, began_at__lte=lately)
    return list(found.order_by("?").values_list("pk", flat=True)[:MOST_READ_AT_ONCE])


def get_reading(pk: int) -> MemoryReading | None:
    """An open reading with its server; None when it has ended."""
    found = MemoryReading.objects.select_related("server__observation", "server__environment", "server__repository")
    return found.filter(pk=pk, ended_at=None).first()


def expectations(model: str, numbers: Collection[int]) -> Expectations:
    """What each of these versions takes, where its own readings tell. One query."""
    # Another configuration for what is loaded tells what that changed, not what the version takes.
    told = MemoryReading.objects.filter(action__in=(Action.LOAD, Action.UNLOAD), ended_at__isnull=False)
    rows = told.filter(model=model, version__in=numbers)
    # Of each by itself: a version that a thousand servers have just loaded must not hide what is known of another.
    latest = Window(RowNumber(), partition_by=F("version"), order_by=F("began_at").desc())
    changes: dict[int, list[Change]] = defaultdict(list)
    for row in rows.annotate(age=latest).filter(age__lte=READINGS).order_by("-began_at"):
        changes[row.version].append(_change(row))
    found: dict[tuple[int, MemoryKind], Taken] = {}
    for number, of_version in changes.items():
        for kind in MemoryKind:
            takes = expected(of_version, kind)
            if takes is not None:
                found[number, kind] = takes
    return found


def rooms(placement: Placement, wanted: Version, servers: Sequence[Server], *, may_drop: bool) -> dict[str, Room]:
    """By server: whether the version fits beside what is there. A few queries for all; nobody is asked."""
    standby = placement.standby.number if placement.standby else None
    takes = expectations(placement.model.name, {wanted.number} | ({standby} if standby else set()))
    last = _last(servers)
    return {
        server.name: _room(*last.get(server.pk, ((), None)), takes, wanted.number, standby=standby, may_drop=may_drop)
        for server in servers
    }


def room_for(
    devices: tuple[DeviceMemory, ...], takes: Expectations, number: int, *, standby: int | None, may_drop: bool
) -> Fit:
    """Whether one more copy of the version fits on these devices beside what is there."""
    kind = devices[0].kind if devices else MemoryKind.GPU
    return judge(
        takes.get((number, kind)),
        devices,
        standby=takes.get((standby or 0, kind)),
        has_standby=standby is not None and standby != number,
        may_drop=may_drop,
    )


def server_memory(server: Server, *, most: int = 10) -> ServerMemory:
    """What is known of one server since it last started; its observation comes with it."""
    rows = list(_since_start(server).order_by("-began_at")[:CHANGES])
    ended = [row for row in rows if row.ended_at is not None]
    devices, at = _last_of(rows)
    changes = tuple(_told(row) for row in ended[:most])
    return ServerMemory(devices, at, changes, tuple(_leaks(ended)))


def _since_start(server: Server) -> QuerySet[MemoryReading]:
    """Another process begins anew: what its predecessor held is gone."""
    found = MemoryReading.objects.filter(server=server)
    restarted_at = getattr(getattr(server, "observation", None), "restarted_at", None)
    return found.filter(began_at__gte=restarted_at) if restarted_at else found


def _leaks(rows: Sequence[MemoryReading]) -> Iterable[Leak]:
    """Of each version whose last change here was its unload. `rows` come newest first."""
    seen: set[tuple[str, int]] = set()
    unloads = []
    for position, row in enumerate(rows):
        key = (row.model, row.version)
        if row.model and key not in seen:
            seen.add(key)
            if row.action == Action.UNLOAD:
                unloads.append((position, row))
    changes: dict[tuple[str, int], list[Change]] = defaultdict(list)
    for row in rows:
        changes[row.model, row.version].append(_change(row))
    for position, row in unloads:
        later = [devices_of(side) for one in rows[:position] for side in (one.before, one.after) if side]
        unload = _change(row)
        kind = unload.before[0].kind if unload.before else MemoryKind.GPU
        loads = [one for one in changes[row.model, row.version] if one.action == Action.LOAD]
        missing = leaked(unload, expected(loads[:READINGS], kind), later)
        if missing and row.ended_at is not None:
            yield Leak(row.model, row.version, missing, row.ended_at)


def _room(
    devices: tuple[DeviceMemory, ...],
    at: datetime | None,
    takes: Expectations,
    number: int,
    *,
    standby: int | None,
    may_drop: bool,
) -> Room:
    if not devices:
        return Room(need=next((told for (one, _), told in takes.items() if one == number), None))
    return Room(
        need=takes.get((number, devices[0].kind)),
        free_bytes=sum(device.free_bytes for device in devices),
        at=at,
        fit=room_for(devices, takes, number, standby=standby, may_drop=may_drop),
    )


def _last(servers: Sequence[Server]) -> dict[int, tuple[tuple[DeviceMemory, ...], datetime | None]]:
    """What was last read on each server; one that restarted since is not known."""
    newest = MemoryReading.objects.filter(server__in=[server.pk for server in servers]).values("server")
    rows = MemoryReading.objects.filter(pk__in=newest.annotate(last=Max("pk")).values("last"))
    started = {server.pk: getattr(getattr(server, "observation", None), "restarted_at", None) for server in servers}
    found = {}
    for row in rows:
        devices, at = _last_of([row])
        since = started.get(row.server_id)
        if since is None or (at is not None and at >= since):
            found[row.server_id] = (devices, at)
    return found


def _last_of(rows: Sequence[MemoryReading]) -> tuple[tuple[DeviceMemory, ...], datetime | None]:
    for row in rows:
        if row.after:
            return devices_of(row.after), row.ended_at
        if row.before:
            return devices_of(row.before), row.began_at
    return (), None


def _change(row: MemoryReading) -> Change:
    return Change(Action(row.action or Action.MIXED), devices_of(row.before), devices_of(row.after))


def _told(row: MemoryReading) -> MemoryChange:
    change = _change(row)
    told = taken(change) if row.model else None
    moved = None if told is None else told.total_bytes * (-1 if row.action == Action.UNLOAD else 1)
    if row.action == Action.RECONFIGURE:
        moved = shifted(change)
    remark = row.remark or ("" if moved is not None else "too small for these figures to tell")
    return MemoryChange(row.ended_at or row.began_at, row.action, row.model, row.version, moved, remark)
