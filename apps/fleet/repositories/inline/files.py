"""The files of a load call, read from the sealed artifacts and checked on the way."""

import hashlib
from collections.abc import Iterable

from apps.common.names import check_name
from apps.fleet.errors import ArtifactDamaged, InlineTooLarge, SharedFileDiffers
from apps.fleet.repositories.manifest import File, manifest_of
from apps.fleet.repositories.protocol import Delivery

# A protobuf message ends at 2 GiB, and a worker holds the call twice.
MOST_BYTES = 1 << 30


def carried(versions: Iterable[Delivery]) -> dict[str, bytes]:
    """Path in the model's directory -> bytes, of all these versions together; InlineTooLarge past the limit."""
    kept = sorted(versions, key=lambda one: one.number)
    _require_room(kept)
    found: dict[str, bytes] = {}
    for version in kept:
        for path, file in manifest_of(version).items():
            content = _read(file)
            if found.setdefault(path, content) != content:
                raise SharedFileDiffers(f"{path}: version {version.number} has other content in it", path=path)
    return found


def check(version: Delivery) -> int:
    """How many bytes the version alone brings along, once it is sure that a load call can carry it."""
    for path, file in manifest_of(version).items():
        for part in path.split("/"):
            check_name(part, what="file")
        _read(file)
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


def _read(file: File) -> bytes:
    try:
        content = file.source.read_bytes()
    except FileNotFoundError as error:
        raise ArtifactDamaged(
            f"{file.source}: this file of the stored version is not there", path=str(file.source)
        ) from error
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise ArtifactDamaged(f"{file.source}: its SHA-256 is not the one it was stored with", path=str(file.source))
    return content
