"""Keeping what loads and unloads did to a server's memory: one open reading per server, ended once."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from apps.deployments.memory import Action, difference, document
from apps.deployments.models import MemoryReading
from apps.fleet.models import Server
from apps.serving.memory import DeviceMemory

Loaded = Iterable[tuple[str, int]]


def is_measuring(server: Server) -> bool:
    """Whether a reading is open: what follows belongs to it."""
    return MemoryReading.objects.filter(server=server, ended_at=None).exists()


def begin_reading(server: Server, *, devices: Sequence[DeviceMemory], loaded: Loaded, now: datetime) -> None:
    """Keep how things stand before a change; somebody else's open reading stays."""
    reading = MemoryReading(server=server, began_at=now, before=document(devices), loaded=_kept(loaded))
    MemoryReading.objects.bulk_create([reading], ignore_conflicts=True)


def end_reading(reading: MemoryReading, *, devices: Sequence[DeviceMemory], loaded: Loaded, now: datetime) -> None:
    """Keep how things stand afterwards, and what made the difference; nothing is kept where nothing changed."""
    now_loaded = _kept(loaded)
    if now_loaded == reading.loaded:
        MemoryReading.objects.filter(pk=reading.pk, ended_at=None).delete()
        return
    action, model, version = difference(reading.loaded, now_loaded)
    remark = "" if action != Action.MIXED else "more than one version came or went: it tells of none"
    MemoryReading.objects.filter(pk=reading.pk, ended_at=None).update(
        ended_at=now, after=document(devices), action=action, model=model, version=version, remark=remark
    )


def give_up_reading(reading: MemoryReading, *, why: str, now: datetime) -> None:
    """End it without knowing what came of it."""
    MemoryReading.objects.filter(pk=reading.pk, ended_at=None).update(ended_at=now, remark=why[:300])


def _kept(loaded: Loaded) -> list[list[object]]:
    return [[model, number] for model, number in sorted(loaded)]
