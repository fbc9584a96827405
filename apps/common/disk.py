"""The one door to disks: room is asked for first, what is written is flushed, failures get the owner's names."""

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from apps.common.errors import ControlPlaneError

CHUNK_BYTES = 1 << 20
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
Kind = type[ControlPlaneError]


@dataclass(frozen=True, slots=True)
class Disk:
    """A kind of place on disk: the errors of the app that owns it, and what must always stay free there."""

    full: Kind
    broken: Kind
    forbidden: Kind | None = None
    missing: Kind | None = None
    reserve_bytes: int = 0

    @contextmanager
    def faults(self, root: Path, *, doing: str, needed_bytes: int = 0) -> Iterator[None]:
        """Turn what the operating system says within into the owner's errors."""
        try:
            yield
        except OSError as error:
            raise self._fault(error, root, doing=doing, needed_bytes=needed_bytes) from error

    def require_room(self, root: Path, needed_bytes: int, *, promised_bytes: int = 0) -> None:
        """The owner's `full` unless `needed_bytes` and the reserve fit beside what is promised to others."""
        free = shutil.disk_usage(root).free
        if free < needed_bytes + promised_bytes + self.reserve_bytes:
            promised = f", {promised_bytes:,} of them promised to what is on its way in" if promised_bytes else ""
            raise self.full(
                f"{root}: {needed_bytes:,} bytes are needed and {free:,} are free{promised}",
                needed_bytes=needed_bytes,
                free_bytes=free,
                promised_bytes=promised_bytes,
                path=str(root),
            )

    def _fault(self, error: OSError, root: Path, *, doing: str, needed_bytes: int) -> ControlPlaneError:
        said = f"{root}: {doing}: {error.strerror or error}"
        if error.errno in _FULL:
            return self.full(f"{said}; {needed_bytes:,} bytes were needed", needed_bytes=needed_bytes, path=str(root))
        if self.forbidden and error.errno in _FORBIDDEN:
            return self.forbidden(said, path=str(root))
        if self.missing and not root.is_dir():
            return self.missing(f"{root}: there is no such directory", path=str(root))
        return self.broken(said, path=str(root))


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
