"""The kind `posix`: a directory on a file system that workers and servers share."""

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from apps.common.text import printable
from apps.fleet.errors import BadPath
from apps.fleet.repositories.posix import configs, removal, root, shadows, stamps, versions
from apps.fleet.repositories.proof import index_of_same_repository
from apps.fleet.repositories.protocol import Delivered, Delivery, ReadsHere, no_settings
from apps.serving.protocol import IndexEntry, ServingBackend

PATH_CHARS = 1_000


class Directory:
    """See `Home`."""

    forgets = ""
    tells_all = True

    def __init__(self, place: str, settings: Mapping[str, Any]) -> None:
        self.place, self.root = place, Path(place)

    @classmethod
    def clean_place(cls, place: str, *, name: str) -> str:
        """An absolute path without '..'."""
        pure = PurePosixPath(place)
        if not pure.is_absolute() or ".." in pure.parts or len(pure.parts) == 1 or len(place) > PATH_CHARS:
            raise BadPath(f"{printable(place, limit=200)!r} is not the absolute path of a directory", field="path")
        if not place.isprintable():
            raise BadPath(f"{printable(place, limit=200)!r} holds control characters", field="path")
        return os.path.normpath(pure)

    @classmethod
    def clean_settings(cls, settings: Mapping[str, str]) -> dict[str, str]:
        """There are none."""
        return no_settings(settings)

    def prove(self, backend: ServingBackend, *, server: str, patience_s: float) -> ReadsHere:
        """A directory made just now must turn up in the server's index."""
        root.check_root(self.root)
        there, marker = set(root.listing(self.root)), root.marker(self.root)
        index = index_of_same_repository(
            backend, marker, server=server, place=self.place, there=there, patience_s=patience_s
        )
        return ReadsHere(index)

    def index(self, backend: ServingBackend) -> tuple[IndexEntry, ...]:
        """As the server tells it."""
        return backend.index()

    def publish(self, *, model: str, version: Delivery) -> Delivered:
        """Staged beside the root, then renamed."""
        done = versions.publish_version(
            self.root, model=model, number=version.number, artifact=version.artifact, files=version.files
        )
        return Delivered(done.was_there, done.copied_bytes, done.new_shared)

    def has_version(self, *, model: str, version: Delivery) -> bool:
        """Whether the directory is there."""
        return versions.has_version(self.root, model=model, number=version.number)

    def carried(self, versions: Iterable[Delivery]) -> Mapping[str, bytes]:
        """Nothing: servers read the directory."""
        return {}

    def load_patience_s(self, *, usual_s: float, deadline_s: float) -> float:
        """The usual: the index tells how the load goes on."""
        return usual_s

    def stage_shadow(self, *, model: str, number: int, config_text: str) -> None:
        """By relative links."""
        shadows.make_shadow(self.root, model=model, number=number, config_text=config_text)

    def remove_shadow(self, *, model: str) -> bool:
        """In one rename."""
        return shadows.remove_shadow(self.root, model=model)

    def write_config(self, *, model: str, text: str) -> bool:
        """config.pbtxt, in one rename."""
        return configs.write_config(self.root, model=model, text=text)

    def remove_config(self, *, model: str) -> bool:
        """A restarted server no longer loads the model."""
        return configs.remove_model_config(self.root, model=model)

    def stamp_ns(self, *, model: str, number: int) -> int | None:
        """The newest time stamp under the version's directory."""
        return stamps.newest_stamp_ns(self.root, model=model, number=number)

    def stamps_ns(self, *, model: str, numbers: Collection[int]) -> Mapping[int, int | None]:
        """Each by itself."""
        return {number: self.stamp_ns(model=model, number=number) for number in numbers}

    def strange_entries(self, *, model: str) -> list[str]:
        """Look-alikes of versions, links to nowhere."""
        return stamps.strange_entries(self.root, model=model)

    def free_bytes(self) -> int | None:
        """Of the file system."""
        return root.free_bytes(self.root)

    def remove_versions(self, gone: Mapping[str, Collection[int]]) -> list[str]:
        """Each in one step."""
        return removal.remove_versions(self.root, gone=gone)

    def sweep(self, *, keep_shadows: Collection[str]) -> list[str]:
        """Shadows, markers and old staging."""
        return root.sweep(self.root, keep_shadows=keep_shadows)
