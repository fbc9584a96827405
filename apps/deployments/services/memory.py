"""Keeping what loads and unloads did to a server's memory: one open reading per server, ended once."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from apps.deployments.memory import Action, difference, document
from apps.deployments.models import MemoryReading
from apps.fleet.models import Server
from apps.serving.memory import DeviceMemory

Loaded = Iterable[tuple[str, int]]
MIXED = "more than one version came, went or changed: it tells of none"


def is_measuring(server: Server) -> bool:
    """Whether a reading is open: what follows belongs to it."""
    return MemoryReading.objects.filter(server=server, ended_at=None).exists()


def begin_reading(server: Server, *, devices: Sequence[DeviceMemory], loaded: Loaded, now: datetime) -> None:
    """Keep how things stand before a change; somebody else's open reading stays."""
    reading = MemoryReading(server=server, began_at=now, before=document(devices), loaded=_kept(loaded))
    MemoryReading.objects.bulk_create([reading], ignore_conflicts=True)


def note_reconfiguring(server: Server, *, model: str, version: int, beside: int | None) -> None:
    """The open reading sees the same version under another configuration; of two such it tells of neither."""
    open_one = MemoryReading.objects.filter(server=server, ended_at=None)
    another = open_one.exclude(action="").exclude(model=model, version=version)
    another.update(action=Action.MIXED, model="", version=0, remark=MIXED)
    remark = f"together with version {beside}" if beside is not None else ""
    open_one.filter(action="").update(action=Action.RECONFIGURE, model=model, version=version, remark=remark)


def end_reading(reading: MemoryReading, *, devices: Sequence[DeviceMemory], loaded: Loaded, now: datetime) -> None:
    """Keep how things stand afterwards, and what made the difference; nothing is kept where nothing changed."""
    # What somebody has begun to change since it was read is told at the next look.
    mine = MemoryReading.objects.filter(pk=reading.pk, ended_at=None, action=reading.action)
    now_loaded = _kept(loaded)
    is_same = now_loaded == reading.loaded
    if is_same and not reading.action:
        mine.delete()
        return
    ended = {"ended_at": now, "after": document(devices)}
    if is_same:
        mine.update(**ended)
        return
    action, model, version = (Action.MIXED, "", 0) if reading.action else difference(reading.loaded, now_loaded)
    remark = MIXED if action == Action.MIXED else ""
    mine.update(**ended, action=action, model=model, version=version, remark=remark)


def give_up_reading(reading: MemoryReading, *, why: str, now: datetime) -> None:
    """End it without knowing what came of it."""
    MemoryReading.objects.filter(pk=reading.pk, ended_at=None).update(ended_at=now, remark=why[:300])


def _kept(loaded: Loaded) -> list[list[object]]:
    return [[model, number] for model, number in sorted(loaded)]
