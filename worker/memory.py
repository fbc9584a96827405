"""Reading a server's memory: never in the way of a rollout, whatever the server's metrics do."""

import logging
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from apps.common.errors import ControlPlaneError
from apps.common.text import printable
from apps.deployments import selectors, services
from apps.fleet import connecting
from apps.fleet.repositories import Home, open_home
from apps.serving.memory import DeviceMemory
from apps.serving.protocol import IndexEntry, Readiness, ServingBackend

log = logging.getLogger(__name__)
# A server that is still busy with one load after so long will not give a reading that means anything.
LONGEST = timedelta(minutes=15)
# Triton tells of whole cards only: on a slice of one the figures are mostly other people's.
MIG_LABEL = "mig"
_BUSY = (Readiness.LOADING, Readiness.UNLOADING)


def devices_now(server: Any, backend: ServingBackend) -> tuple[DeviceMemory, ...]:
    """What the server tells now; nothing where it does not, or where it cannot know."""
    if server.labels.get(MIG_LABEL):
        return ()
    try:
        return backend.memory()
    except ControlPlaneError as error:
        log.info("%s: its memory is unknown: %s", server.name, error.message)
        return ()


@dataclass(frozen=True, slots=True)
class Before:
    """How a server stands before a change."""

    devices: tuple[DeviceMemory, ...]
    loaded: frozenset[tuple[str, int]]


def look(
    server: Any, backend: ServingBackend, home: Home, index: tuple[IndexEntry, ...] | None = None
) -> Before | None:
    """How it stands now; None where it does not tell. `index` as it was just read. Uses no database connection."""
    devices = devices_now(server, backend)
    if not devices:
        return None
    try:
        return Before(devices, _loaded(home.index(backend) if index is None else index))
    except ControlPlaneError:
        return None


class Glance:
    """The same, asked beside other work: nobody has to wait for it."""

    def __init__(self, server: Any, backend: ServingBackend, home: Home) -> None:
        self._told: list[Before] = []
        self._thread = threading.Thread(target=self._look, args=(server, backend, home), name="memory", daemon=True)
        self._thread.start()

    def by_now(self, *, wait_s: float = 0.0) -> Before | None:
        """What has been told by now, or within `wait_s`."""
        self._thread.join(wait_s)
        return self._told[0] if self._told else None

    def _look(self, server: Any, backend: ServingBackend, home: Home) -> None:
        found = look(server, backend, home)
        if found is not None:
            self._told.append(found)


def keep(server: Any, before: Before | None, *, now: datetime) -> bool:
    """Open a reading with it; one that is open goes on. False where there is nothing to keep."""
    if before is not None:
        services.begin_reading(server, devices=before.devices, loaded=before.loaded, now=now)
    return before is not None


def measure(reading_id: int, *, now: datetime) -> None:
    """End a reading once the server has come to rest."""
    reading = selectors.get_reading(reading_id)
    if reading is None:
        return
    try:
        backend = connecting.connect(reading.server)
        index = open_home(reading.server.repository).index(backend)
    except ControlPlaneError as error:
        services.give_up_reading(reading, why=printable(error.message, limit=300), now=now)
        return
    if any(entry.state in _BUSY for entry in index):
        if now - reading.began_at > LONGEST:
            services.give_up_reading(reading, why="it kept on loading", now=now)
        return
    observation = getattr(reading.server, "observation", None)
    if observation and observation.restarted_at and observation.restarted_at >= reading.began_at:
        services.give_up_reading(reading, why="the server was restarted meanwhile", now=now)
        return
    devices = devices_now(reading.server, backend)
    if not devices:
        services.give_up_reading(reading, why="the server did not tell its memory afterwards", now=now)
        return
    services.end_reading(reading, devices=devices, loaded=_loaded(index), now=now)


def _loaded(index: tuple[IndexEntry, ...]) -> frozenset[tuple[str, int]]:
    ready = [one for one in index if one.state == Readiness.READY]
    return frozenset((one.model, one.version) for one in ready if one.version is not None)
