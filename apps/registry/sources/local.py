"""Files under an allowed folder of the workers' machine."""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from apps.registry.sources.errors import ReferenceNotAllowed, SourceMissing, SourceRefused, SourceUnreachable
from apps.registry.sources.opened import Opened, Position

READ_BYTES = 1 << 20


@contextmanager
def opened(path: str, roots: Sequence[str], at: Position) -> Iterator[Opened]:
    """The file's bytes. A link that leads out of the roots is refused after it is opened: nobody can change it then."""
    with _open(path) as file:
        _require_inside(path, os.path.realpath(f"/proc/self/fd/{file.fileno()}"), roots)
        status = os.fstat(file.fileno())
        mark = f"{status.st_ino}-{status.st_size}-{status.st_mtime_ns}"
        offset = at.offset_bytes if at.mark == mark else 0
        file.seek(offset)
        yield Opened(Path(path).name, status.st_size, mark, offset, _pieces(file, path))


def _open(path: str) -> IO[bytes]:
    """The file, if it is one; a pipe must not hang the worker."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return os.fdopen(handle, "rb", buffering=0)
        os.close(handle)
    except FileNotFoundError as error:
        raise SourceMissing(f"{path}: there is no such file on the workers' machine") from error
    except OSError as error:
        raise SourceRefused(f"{path}: {error.strerror}", hint="The workers must be able to read it.") from error
    raise SourceRefused(f"{path} is not a file", hint="Pack a folder as .zip or .tar.gz first.")


def _require_inside(path: str, real: str, roots: Sequence[str]) -> None:
    inside = (os.path.realpath(root).rstrip("/") + "/" for root in roots)
    if not any(real.startswith(root) for root in inside):
        raise ReferenceNotAllowed(
            f"{path}: it is a link out of the allowed folders",
            hint="Put the file itself there, or allow the folder it lies in: CONCH_FETCH_ROOTS.",
        )


def _pieces(file: IO[bytes], path: str) -> Iterator[bytes]:
    try:
        while piece := file.read(READ_BYTES):
            yield piece
    except OSError as error:
        raise SourceUnreachable(f"{path}: {error.strerror}") from error
