"""Readings of memory as the worker keeps them."""

from datetime import datetime, timedelta

from django.utils import timezone

from apps.deployments.models import MemoryReading
from apps.fleet.models import Server

GIB = 2**30
CARD = "GPU-51ab7e00-0000-4000-8000-000000000001"


def reading(
    server: Server,
    model: str,
    version: int,
    *,
    before: int,
    after: int,
    total: int = 16 * GIB,
    action: str = "load",
    kind: str = "gpu",
    at: datetime | None = None,
) -> MemoryReading:
    """One version came or went, on one device."""
    ended_at = at or timezone.now()
    device = {"kind": kind, "device": CARD if kind == "gpu" else "", "total": total}
    return MemoryReading.objects.create(
        server=server,
        began_at=ended_at - timedelta(seconds=10),
        ended_at=ended_at,
        before=[device | {"used": before}],
        after=[device | {"used": after}],
        loaded=[],
        action=action,
        model=model,
        version=version,
    )
