"""The kind `inline`: models that exist only inside the servers, as load calls brought them there.

Measured: versions of unchanged number and configuration are not restarted by a load that sends them again, whatever
their files; a version that serves takes no new bytes. Conch's versions never change under a number, so a loaded one
stays hot until it goes.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from apps.fleet.errors import BadPath
from apps.fleet.repositories.inline import files
from apps.fleet.repositories.protocol import Delivered, Delivery, ReadsHere, no_settings
from apps.serving.protocol import IndexEntry, Readiness, ServingBackend

FORGETS = (
    "This server has no model repository: every load brings the files along. After a restart it has nothing, "
    "until Conch loads it again."
)
# Bytes under a number never change, so neither does this.
STAMP_NS = 1


class Inline:
    """See `Home`."""

    forgets = FORGETS
    tells_all = False

    def __init__(self, place: str, settings: Mapping[str, Any]) -> None:
        self.place = place

    @classmethod
    def clean_place(cls, place: str, *, name: str) -> str:
        """There is none; what is kept is unlike any other repository's."""
        own = f"inline:{name}"
        if place not in ("", own):
            raise BadPath("an inline repository has no path: its versions travel inside the load calls", field="path")
        return own

    @classmethod
    def clean_settings(cls, settings: Mapping[str, str]) -> dict[str, str]:
        """There are none."""
        return no_settings(settings)

    def prove(self, backend: ServingBackend, *, server: str, patience_s: float) -> ReadsHere:
        """There is no place to share: a server that takes loads takes these too."""
        return ReadsHere(self.index(backend), (FORGETS,))

    def index(self, backend: ServingBackend) -> tuple[IndexEntry, ...]:
        """The index has only what lies in a directory; the others are those that count requests and say they are ready.

        What is loading, has failed or drains is in neither.
        """
        listed = backend.index()
        known = {(entry.model, entry.version) for entry in listed}
        counted = [(one.model, one.version) for one in backend.statistics()]
        ready = [key for key in counted if key not in known and backend.is_ready(*key)]
        return (*listed, *(IndexEntry(model, version, Readiness.READY) for model, version in ready))

    def publish(self, *, model: str, version: Delivery) -> Delivered:
        """Nothing to bring yet: make sure that a load can."""
        files.check(version)
        return Delivered(was_there=True, copied_bytes=0)

    def has_version(self, *, model: str, version: Delivery) -> bool:
        """Always: the load brings it."""
        return True

    def carried(self, versions: Iterable[Delivery]) -> Mapping[str, bytes]:
        """All files of all of them: what a load does not bring, the server drops."""
        return files.carried(versions)

    def load_patience_s(self, *, usual_s: float, deadline_s: float) -> float:
        """Until the deadline: nothing but the call's own answer tells how the load ended."""
        return max(usual_s, deadline_s)

    def stage_shadow(self, *, model: str, number: int, config_text: str) -> None:
        """The shadow's load brings everything."""

    def remove_shadow(self, *, model: str) -> bool:
        """Unloaded is gone."""
        return False

    def write_config(self, *, model: str, text: str) -> bool:
        """There is nowhere to write it."""
        return False

    def remove_config(self, *, model: str) -> bool:
        """There is none."""
        return False

    def stamp_ns(self, *, model: str, number: int) -> int | None:
        """Always the same."""
        return STAMP_NS

    def stamps_ns(self, *, model: str, numbers: Collection[int]) -> Mapping[int, int | None]:
        """Always the same."""
        return dict.fromkeys(numbers, STAMP_NS)

    def strange_entries(self, *, model: str) -> list[str]:
        """None: a load brings only what Conch keeps."""
        return []

    def free_bytes(self) -> int | None:
        """The server's temporary directory, of which nothing is known."""
        return None

    def remove_versions(self, gone: Mapping[str, Collection[int]]) -> list[str]:
        """Nothing lies anywhere."""
        return []

    def sweep(self, *, keep_shadows: Collection[str]) -> list[str]:
        """Nothing lies anywhere."""
        return []
