"""Asking a server who it is, and what it serves. No database."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.common.errors import ControlPlaneError
from apps.common.names import MAX_VERSION, SHADOW_SUFFIX
from apps.common.text import SHOWN_CHARS, printable
from apps.fleet.repositories import Home
from apps.fleet.restarts import Counters, key_of
from apps.serving.errors import NotExplicit, ServerUnreachable
from apps.serving.protocol import ControlMode, IndexEntry, Readiness, ServerInfo, ServingBackend

# How long a file system shared over a network may take to show the server a new directory.
MARKER_PATIENCE_S = 3.0
# A server that goes on answering is the same one: who it is, and whether it calls itself ready while no model of it has
# changed, is asked this often only.
SAME_FOR_S = 60.0
# As long as a directory's name can be.
NAME_CHARS = 255
VERSION_CHARS = 64
STRICT = (
    "The server says it is not ready although it answers: it has strict readiness, and a model failed or is loading. "
    "Start it with --strict-readiness=false: with strict readiness every load takes it out of its load balancer, "
    "and one failed load may keep it out until a restart."
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a server said when it was added: all is well with it, apart from `warnings`."""

    server_name: str
    version: str
    extensions: tuple[str, ...]
    control_mode: str
    index: tuple[IndexEntry, ...] = field(repr=False)
    warnings: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """As the server's row keeps it."""
        return {
            "server_name": printable(self.server_name, limit=200),
            "version": self.version,
            "extensions": list(self.extensions),
            "control_mode": self.control_mode,
            "models": len({entry.model for entry in self.index}),
            "loaded": sum(entry.state == Readiness.READY for entry in self.index),
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a server serves at one moment: the index's entries that have a version and a state.

    `stamps` are the newest time stamps under the directories of the versions that are READY, in ns.
    `counters` is None when the server could not tell them; `tells_all` is false where a version that was let go leaves
    no line.
    """

    entries: tuple[IndexEntry, ...]
    is_ready: bool
    server_version: str
    extensions: tuple[str, ...]
    stamps: dict[tuple[str, int], int | None]
    counters: Counters | None = None
    tells_all: bool = True


def ask(backend: ServingBackend, *, server: str, home: Home, patience_s: float = MARKER_PATIENCE_S) -> Finding:
    """Who the server is, once all that Conch needs of it holds; the error says which does not.

    Raises ServerUnreachable, NotAnInferenceServer, ControlRefused, NotExplicit, and the errors of a
    repository that is missing, cannot be written, or is not the one that the server reads.
    """
    info = backend.describe()
    backend.index()
    if backend.control_mode() != ControlMode.EXPLICIT:
        raise NotExplicit(f"{server}: it does not take load and unload requests", server=server)
    reads = home.prove(backend, server=server, patience_s=patience_s)
    return Finding(
        server_name=info.name,
        version=printable(info.version, limit=VERSION_CHARS),
        extensions=_extensions(info),
        control_mode=str(ControlMode.EXPLICIT),
        index=reads.index,
        warnings=(*reads.warnings, *(() if backend.is_server_ready() else (STRICT,))),
    )


class Stamps:
    """The time stamps of version directories, each read once for all the servers that read one repository."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, int], int | None] = {}

    def of(self, home: Home, versions: Collection[tuple[str, int]]) -> dict[tuple[str, int], int | None]:
        """Asked once per model; None where a directory cannot be read here: then nothing is claimed about hotness."""
        unknown: dict[str, list[int]] = {}
        for model, number in versions:
            if (home.place, model, number) not in self._kept:
                unknown.setdefault(model, []).append(number)
        for model, numbers in unknown.items():
            found = _stamps(home, model, numbers)
            self._kept |= {(home.place, model, number): found.get(number) for number in numbers}
        return {(model, number): self._kept[home.place, model, number] for model, number in versions}


def look(backend: ServingBackend, *, home: Home, stamps: Stamps | None = None) -> Sighting:
    """What the server serves now; the repository's time stamps tell whether a version is still hot."""
    stamps = stamps or Stamps()
    info = backend.describe(at_most_s_old=SAME_FOR_S)
    index = home.index(backend)
    is_ready = backend.is_server_ready(at_most_s_old=SAME_FOR_S)
    entries = tuple(_kept(entry) for entry in index if _can_be_kept(entry))
    ready = [entry for entry in entries if entry.state == Readiness.READY]
    return Sighting(
        entries=entries,
        is_ready=is_ready,
        server_version=printable(info.version, limit=VERSION_CHARS),
        extensions=_extensions(info),
        stamps=stamps.of(home, [(entry.model, entry.version or 0) for entry in ready]),
        counters=_counters(backend, entries),
        tells_all=home.tells_all,
    )


def _counters(backend: ServingBackend, entries: tuple[IndexEntry, ...]) -> Counters | None:
    """What each loaded version has answered so far; a version that goes away meanwhile spoils one reading only."""
    try:
        found = backend.statistics()
    except ServerUnreachable:
        raise
    except ControlPlaneError:
        return None
    kept = {key_of(entry.model, entry.version or 0) for entry in entries}
    counted = {
        key_of(each.model, each.version): (each.success_count + each.failure_count, each.success_us) for each in found
    }
    return {key: both for key, both in counted.items() if key in kept}


def _extensions(info: ServerInfo) -> tuple[str, ...]:
    return tuple(printable(name, limit=100) for name in info.extensions[:50])


def _can_be_kept(entry: IndexEntry) -> bool:
    """Whether a row can hold it: one odd line must not cost all the others."""
    is_number = entry.version is not None and entry.version <= MAX_VERSION
    is_named = len(entry.model) <= NAME_CHARS and printable(entry.model) == entry.model
    return is_number and is_named and not _is_over(entry)


def _is_over(entry: IndexEntry) -> bool:
    """A try that has been let go, and not because it failed: its line says nothing, and comes and goes on every server.

    Kept, it would be written for each server by itself, while the promotion needs the database.
    """
    is_unloaded = entry.state == Readiness.UNAVAILABLE and entry.reason in ("", "unloaded")
    return is_unloaded and entry.model.endswith(SHADOW_SUFFIX)


def _kept(entry: IndexEntry) -> IndexEntry:
    return IndexEntry(entry.model, entry.version, entry.state, printable(entry.reason, limit=SHOWN_CHARS * 4))


def _stamps(home: Home, model: str, numbers: Collection[int]) -> Mapping[int, int | None]:
    try:
        return home.stamps_ns(model=model, numbers=numbers)
    except ControlPlaneError:
        return {}
