"""The files of a load call, read from the sealed artifacts and checked on the way."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from apps.common.names import check_name
from apps.fleet.errors import ArtifactDamaged, InlineTooLarge, SharedFileDiffers
from apps.fleet.repositories.protocol import Delivery

# A protobuf message ends at 2 GiB, and a worker holds the call twice.
MOST_BYTES = 1 << 30
VERSION_FOLDER, SHARED_FOLDER = "version", "shared"


def carried(versions: Iterable[Delivery]) -> dict[str, bytes]:
    """Path in the model's directory -> bytes, of all these versions together; InlineTooLarge past the limit."""
    kept = sorted(versions, key=lambda one: one.number)
    _require_room(kept)
    found: dict[str, bytes] = {}
    for version in kept:
        for path, source, sha256 in _lines(version):
            content = _read(source, sha256=sha256)
            if found.setdefault(path, content) != content:
                raise SharedFileDiffers(f"{path}: version {version.number} has other content in it", path=path)
    return found


def check(version: Delivery) -> int:
    """How many bytes the version alone brings along, once it is sure that a load call can carry it."""
    for path, source, sha256 in _lines(version):
        for part in path.split("/"):
            check_name(part, what="file")
        _read(source, sha256=sha256)
    return _require_room([version])


def _require_room(versions: list[Delivery]) -> int:
    total = sum(int(line["size_bytes"]) for version in versions for line in version.files)
    if total > MOST_BYTES:
        numbers = ", ".join(str(version.number) for version in versions)
        raise InlineTooLarge(
            f"version {numbers}: {total:,} bytes are more than the {MOST_BYTES:,} that one load call may carry",
            size_bytes=total,
        )
    return total


def _lines(version: Delivery) -> Iterator[tuple[str, Path, str]]:
    """Where each file goes, where it lies, and what it must be."""
    for line in version.files:
        path = PurePosixPath(str(line["path"]))
        if path.is_absolute() or ".." in path.parts:
            raise ArtifactDamaged(f"its list of files names {str(path)[:200]!r}")
        if path.parts[0] in (VERSION_FOLDER, SHARED_FOLDER):
            inner = path.relative_to(path.parts[0])
            target = inner if path.parts[0] == SHARED_FOLDER else str(version.number) / inner
            yield target.as_posix(), version.artifact / path, str(line["sha256"])


def _read(source: Path, *, sha256: str) -> bytes:
    try:
        content = source.read_bytes()
    except FileNotFoundError as error:
        raise ArtifactDamaged(f"{source}: this file of the stored version is not there", path=str(source)) from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ArtifactDamaged(f"{source}: its SHA-256 is not the one it was stored with", path=str(source))
    return content
