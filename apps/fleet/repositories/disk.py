"""Durable steps on a disk: stage, copy while hashing, flush, rename. Failures get Conch's names here."""

import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from apps.fleet.errors import (
    ArtifactDamaged,
    RepositoryBroken,
    RepositoryFull,
    RepositoryMissing,
    RepositoryNotWritable,
)

CHUNK_BYTES = 1 << 20
# Left free beyond what a version needs: config files, byte code, the server's own files.
RESERVE_BYTES = 4 << 20
_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def faults(root: Path, *, doing: str, needed_bytes: int = 0) -> Iterator[None]:
    """Turn what the operating system says within into Conch's errors."""
    try:
        yield
    except OSError as error:
        raise _fault(error, root, doing=doing, needed_bytes=needed_bytes) from error


def _fault(error: OSError, root: Path, *, doing: str, needed_bytes: int) -> Exception:
    said = f"{root}: {doing}: {error.strerror or error}"
    if error.errno in _FULL:
        return RepositoryFull(f"{said}; {needed_bytes:,} bytes were needed", needed_bytes=needed_bytes, path=str(root))
    if error.errno in _FORBIDDEN:
        return RepositoryNotWritable(said, path=str(root))
    if not root.is_dir():
        return RepositoryMissing(f"{root}: there is no such directory", path=str(root))
    return RepositoryBroken(said, path=str(root))


def staging_root(root: Path) -> Path:
    """Where files for `root` are staged: beside it, never in it."""
    root = Path(os.path.abspath(root))
    return root.parent / f".{root.name}.staging"


@contextmanager
def staged(root: Path) -> Iterator[Path]:
    """A fresh directory on the root's file system; what is still in it at the end is removed."""
    if not root.is_dir():
        raise RepositoryMissing(f"{root}: there is no such directory", path=str(root))
    parent = staging_root(root)
    parent.mkdir(exist_ok=True)
    directory = Path(tempfile.mkdtemp(dir=parent, prefix="new-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def require_room(root: Path, needed_bytes: int) -> None:
    """RepositoryFull unless `needed_bytes` and a reserve fit."""
    free = shutil.disk_usage(root).free
    if free < needed_bytes + RESERVE_BYTES:
        raise RepositoryFull(
            f"{root}: {needed_bytes:,} bytes are needed and {free:,} are free",
            needed_bytes=needed_bytes,
            free_bytes=free,
            path=str(root),
        )


def copy_checked(source: Path, target: Path, *, sha256: str) -> None:
    """Copy and flush one file; ArtifactDamaged when the bytes are not those that were received."""
    if not source.is_file():
        raise ArtifactDamaged(f"{source}: this file of the stored version is not there", path=str(source))
    digest = hashlib.sha256()
    with source.open("rb") as reader, target.open("xb") as writer:
        while chunk := reader.read(CHUNK_BYTES):
            digest.update(chunk)
            writer.write(chunk)
        writer.flush()
        os.fsync(writer.fileno())
    if digest.hexdigest() != sha256:
        raise ArtifactDamaged(f"{source}: its SHA-256 is not the one it was stored with", path=str(source))


def write_text(target: Path, text: str) -> None:
    """Write and flush one new file."""
    with target.open("x", encoding="utf-8", newline="\n") as writer:
        writer.write(text)
        writer.flush()
        os.fsync(writer.fileno())


def digest_of(path: Path) -> str:
    """The file's SHA-256, as hexadecimal."""
    with path.open("rb") as reader:
        return hashlib.file_digest(reader, "sha256").hexdigest()


def flush_directory(directory: Path) -> None:
    """Make renames within the directory last through a power cut."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_tree(top: Path) -> None:
    """`flush_directory` for `top` and every directory under it; files are flushed when written."""
    for directory, _, _ in os.walk(top):
        flush_directory(Path(directory))


def rename_in(source: Path, target: Path) -> None:
    """Rename, then flush the directory that now holds it."""
    source.rename(target)
    flush_directory(target.parent)
