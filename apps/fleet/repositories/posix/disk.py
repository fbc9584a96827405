"""Durable steps in a repository: stage, copy while hashing, flush, rename."""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from apps.common.disk import CHUNK_BYTES, Disk, digest_of, flush_directory
from apps.fleet.errors import (
    ArtifactDamaged,
    RepositoryBroken,
    RepositoryFull,
    RepositoryMissing,
    RepositoryNotWritable,
)

__all__ = ["digest_of", "faults", "flush_directory", "require_room"]

# linux/fs.h; Python has no name for it before 3.14.
FICLONE = 0x40049409
REPOSITORY = Disk(
    full=RepositoryFull,
    broken=RepositoryBroken,
    forbidden=RepositoryNotWritable,
    missing=RepositoryMissing,
    # Beyond what a version needs: config files, byte code, the server's own files.
    reserve_bytes=4 << 20,
)
faults, require_room = REPOSITORY.faults, REPOSITORY.require_room


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


def copy_checked(source: Path, target: Path, *, sha256: str) -> None:
    """Copy and flush one file; ArtifactDamaged when the bytes are not those that were received."""
    if not source.is_file():
        raise ArtifactDamaged(f"{source}: this file of the stored version is not there", path=str(source))
    with source.open("rb") as reader, target.open("xb") as writer:
        found = digest_of(target) if _clone(reader, writer) else _copy(reader, writer)
        writer.flush()
        os.fsync(writer.fileno())
    if found != sha256:
        raise ArtifactDamaged(f"{source}: its SHA-256 is not the one it was stored with", path=str(source))


def _clone(reader: BinaryIO, writer: BinaryIO) -> bool:
    """Share the blocks until either file is written, where the file system can; an inode of its own either way.

    Never a hard link: what somebody edits in the repository would be the stored version's bytes too.
    """
    try:
        fcntl.ioctl(writer.fileno(), FICLONE, reader.fileno())
    except OSError:
        # Not one file system, or one that cannot. What else is wrong with it, the copy says.
        return False
    return True


def _copy(reader: BinaryIO, writer: BinaryIO) -> str:
    """Every byte; their SHA-256."""
    digest = hashlib.sha256()
    while chunk := reader.read(CHUNK_BYTES):
        digest.update(chunk)
        writer.write(chunk)
    return digest.hexdigest()


def write_text(target: Path, text: str) -> None:
    """Write and flush one new file."""
    with target.open("x", encoding="utf-8", newline="\n") as writer:
        writer.write(text)
        writer.flush()
        os.fsync(writer.fileno())


def flush_tree(top: Path) -> None:
    """`flush_directory` for `top` and every directory under it; files are flushed when written."""
    for directory, _, _ in os.walk(top):
        flush_directory(Path(directory))


def rename_in(source: Path, target: Path) -> None:
    """Rename, then flush the directory that now holds it."""
    source.rename(target)
    flush_directory(target.parent)
