"""What Conch asks of a repository, of whatever kind."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from apps.fleet.errors import BadPath
from apps.serving.protocol import IndexEntry, ServingBackend


class Kept(Protocol):
    """What a repository's row tells: its kind, its place, and what that kind needs besides."""

    kind: str
    path: str
    settings: dict[str, Any]


class Delivery(Protocol):
    """A version's sealed bytes: its number, its artifact's directory, and the manifest of that."""

    @property
    def number(self) -> int:
        """The version's number."""

    @property
    def artifact(self) -> Path:
        """The artifact's directory: `version/` and `shared/`."""

    @property
    def files(self) -> Sequence[Mapping[str, Any]]:
        """One line per file: path, size_bytes, sha256."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """A version that is where its servers find it, and whether it was before.

    `new_shared` are files that all versions share and that were not there yet: each version that is
    loaded starts again, once, at the next load that names it. No time stamp can be set to avoid that.
    """

    was_there: bool
    copied_bytes: int
    new_shared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadsHere:
    """A server's index, and what its owner should know about servers of this kind of repository."""

    index: tuple[IndexEntry, ...]
    warnings: tuple[str, ...] = ()


def no_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """For kinds that need nothing besides their place."""
    given = sorted(name for name, value in settings.items() if value)
    if given:
        raise BadPath(f"this kind of repository has no {given[0]}", hint="Leave it empty.", field=given[0])
    return {}


class Home(Protocol):
    """One repository. Every call is safe to repeat; what a killed worker leaves is whole, or `sweep` removes it."""

    place: str
    # In words, why nothing is left for a server that restarts alone; empty where it comes back by itself.
    forgets: str
    # Whether a server's index tells of loads under way, of failures, and of what was let go.
    tells_all: bool

    def __init__(self, place: str, settings: Mapping[str, Any]) -> None: ...

    @classmethod
    def clean_place(cls, place: str, *, name: str) -> str:
        """The place as it is kept, BadPath when it cannot be one; `name` is the repository's own."""

    @classmethod
    def clean_settings(cls, settings: Mapping[str, str]) -> dict[str, str]:
        """What this kind needs besides its place, as it is kept; BadPath when it cannot be used."""

    def prove(self, backend: ServingBackend, *, server: str, patience_s: float) -> ReadsHere:
        """The server's index, once it is sure that it takes its models from here; the error says why not."""

    def index(self, backend: ServingBackend) -> tuple[IndexEntry, ...]:
        """What the server says it has, models of this kind included."""

    def publish(self, *, model: str, version: Delivery) -> Delivered:
        """Bring the version where its servers find it: all of it or nothing, never over something else."""

    def has_version(self, *, model: str, version: Delivery) -> bool:
        """Whether a load can name the version now."""

    def carried(self, versions: Iterable[Delivery]) -> Mapping[str, bytes]:
        """Files that a load naming these versions must bring along; empty where servers read them by themselves."""

    def load_patience_s(self, *, usual_s: float, deadline_s: float) -> float:
        """How long one load call may take before it is given up for an answer that comes later."""

    def stage_shadow(self, *, model: str, number: int, config_text: str) -> None:
        """Have the version under the shadow's name too."""

    def remove_shadow(self, *, model: str) -> bool:
        """Take the shadow away whole; False when there was none."""

    def write_config(self, *, model: str, text: str) -> bool:
        """Leave the configuration for servers that restart alone; False when nothing was written."""

    def remove_config(self, *, model: str) -> bool:
        """Take the configuration away; False when there was none."""

    def stamp_ns(self, *, model: str, number: int) -> int | None:
        """While this stands still, naming a loaded version restarts nothing; None when that is not known."""

    def stamps_ns(self, *, model: str, numbers: Collection[int]) -> Mapping[int, int | None]:
        """The same of several versions of a model, in one look where that is cheaper."""

    def strange_entries(self, *, model: str) -> list[str]:
        """Names beside the model's versions that hang or break a load."""

    def free_bytes(self) -> int | None:
        """Room that is left, None where nothing says."""

    def remove_versions(self, gone: Mapping[str, Collection[int]]) -> list[str]:
        """Take away versions that are kept no longer; which were there, as `model/number`."""

    def sweep(self, *, keep_shadows: Collection[str]) -> list[str]:
        """Remove what died workers left; the names of what was removed."""
