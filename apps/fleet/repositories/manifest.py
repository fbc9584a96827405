"""An artifact's manifest as a model's directory: what goes where, from where. Pure."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from apps.fleet.errors import ArtifactDamaged
from apps.fleet.repositories.protocol import Delivery

VERSION_FOLDER, SHARED_FOLDER = "version", "shared"


@dataclass(frozen=True, slots=True)
class File:
    """One file of a version: where it lies, and what it must be. Shared ones lie beside the version's directory."""

    source: Path
    size_bytes: int
    sha256: str
    is_shared: bool


def manifest_of(version: Delivery) -> dict[str, File]:
    """Path in the model's directory -> file; ArtifactDamaged when a path leaves it."""
    found = {}
    for line in version.files:
        path = PurePosixPath(str(line["path"]))
        if path.is_absolute() or ".." in path.parts:
            raise ArtifactDamaged(f"its list of files names {str(path)[:200]!r}")
        if path.parts[0] in (VERSION_FOLDER, SHARED_FOLDER):
            is_shared = path.parts[0] == SHARED_FOLDER
            inner = path.relative_to(path.parts[0]).as_posix()
            target = inner if is_shared else f"{version.number}/{inner}"
            file = File(version.artifact / path, int(line["size_bytes"]), str(line["sha256"]), is_shared)
            found[target] = file
    return found
