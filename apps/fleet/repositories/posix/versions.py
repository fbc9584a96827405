"""Publishing a version: copied aside, verified, flushed, renamed into place."""

import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from apps.common.names import check_model_name
from apps.fleet.errors import ArtifactDamaged, SharedFileDiffers, VersionDiffers
from apps.fleet.repositories.posix import disk

BYTE_CODE = "__pycache__"
VERSION_FOLDER, SHARED_FOLDER = "version", "shared"


@dataclass(frozen=True, slots=True)
class Published:
    """Where a version lies, and whether it lay there before.

    `new_shared` are files that all versions share and that were not there yet: each version that is
    loaded starts again, once, at the next load that names it. No time stamp can be set to avoid that.
    """

    directory: Path
    was_there: bool
    copied_bytes: int
    new_shared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _File:
    path: PurePosixPath
    size_bytes: int
    sha256: str


def publish_version(
    root: Path, *, model: str, number: int, artifact: Path, files: Sequence[Mapping[str, Any]]
) -> Published:
    """Bring an artifact's version into `<root>/<model>/<number>`; done before and unchanged is fine.

    `files` is the artifact's manifest. Shared files go beside the version; one that is there is never replaced.
    """
    check_model_name(model)
    wanted = _files(files, VERSION_FOLDER)
    shared = _files(files, SHARED_FOLDER)
    needed = sum(file.size_bytes for file in (*wanted, *shared))
    with disk.faults(root, doing=f"publishing {model} {number}", needed_bytes=needed):
        new_shared = _publish_shared(root, model, artifact / SHARED_FOLDER, shared)
        published = _publish_numbered(root, model, number, artifact / VERSION_FOLDER, wanted)
    return replace(published, new_shared=new_shared)


def has_version(root: Path, *, model: str, number: int) -> bool:
    """Whether the version's directory is there; what is in it is looked at when it is published only."""
    check_model_name(model)
    with disk.faults(root, doing=f"looking for {model} {number}"):
        return (root / model / str(number)).is_dir()


def _files(manifest: Sequence[Mapping[str, Any]], folder: str) -> list[_File]:
    found = []
    for line in manifest:
        path = PurePosixPath(str(line["path"]))
        if path.is_absolute() or ".." in path.parts:
            raise ArtifactDamaged(f"its list of files names {str(path)[:200]!r}")
        if path.parts[0] == folder:
            relative = path.relative_to(folder)
            found.append(_File(relative, int(line["size_bytes"]), str(line["sha256"])))
    return found


def _publish_numbered(root: Path, model: str, number: int, source: Path, files: list[_File]) -> Published:
    target = root / model / str(number)
    if target.exists():
        return _already_there(target, files)
    disk.require_room(root, sum(file.size_bytes for file in files))
    with disk.staged(root) as staging:
        fresh = staging / str(number)
        fresh.mkdir()
        for file in files:
            (fresh / file.path).parent.mkdir(parents=True, exist_ok=True)
            disk.copy_checked(source / file.path, fresh / file.path, sha256=file.sha256)
        disk.flush_tree(fresh)
        _make_model_directory(root, model)
        try:
            disk.rename_in(fresh, target)
        except OSError as error:
            if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                raise
            return _already_there(target, files)  # another worker was as fast
    return Published(target, was_there=False, copied_bytes=sum(file.size_bytes for file in files))


def _already_there(target: Path, files: list[_File]) -> Published:
    fault = _difference(target, files)
    if fault:
        raise VersionDiffers(f"{target}: {fault}", path=str(target))
    return Published(target, was_there=True, copied_bytes=0)


def _difference(target: Path, files: list[_File]) -> str | None:
    """What is not as the manifest says, None when all is. Byte code is the server's own business."""
    found = {path for path in _present(target) if BYTE_CODE not in path.parts}
    wanted = {file.path for file in files}
    if found != wanted:
        odd = sorted(str(path) for path in found ^ wanted)
        return f"{odd[0]!r} is {'missing' if PurePosixPath(odd[0]) in wanted else 'not part of this version'}"
    for file in files:
        path = target / file.path
        if path.stat().st_size != file.size_bytes or disk.digest_of(path) != file.sha256:
            return f"{str(file.path)!r} has other content"
    return None


def _present(top: Path) -> set[PurePosixPath]:
    if not top.is_dir():
        return {PurePosixPath(".")}
    return {
        PurePosixPath(Path(directory, name).relative_to(top).as_posix())
        for directory, _, names in os.walk(top)
        for name in names
    }


def _make_model_directory(root: Path, model: str) -> None:
    directory = root / model
    if not directory.is_dir():
        directory.mkdir(exist_ok=True)
        disk.flush_directory(root)


def _publish_shared(root: Path, model: str, source: Path, files: list[_File]) -> tuple[str, ...]:
    """All that is there already is compared before the first new file lands."""
    new = [file for file in files if not os.path.lexists(root / model / file.path)]
    for file in set(files) - set(new):
        _require_same(root / model / file.path, file)
    disk.require_room(root, sum(file.size_bytes for file in new))
    for file in new:
        target = root / model / file.path
        _make_model_directory(root, model)
        with disk.staged(root) as staging:
            disk.copy_checked(source / file.path, staging / "shared", sha256=file.sha256)
            target.parent.mkdir(parents=True, exist_ok=True)
            disk.rename_in(staging / "shared", target)
    return tuple(str(file.path) for file in new)


def _require_same(target: Path, file: _File) -> None:
    is_same = target.is_file() and target.stat().st_size == file.size_bytes and disk.digest_of(target) == file.sha256
    if not is_same:
        raise SharedFileDiffers(f"{target}: it has other content in this version", path=str(file.path))
