"""A file that comes in piece by piece, over many requests and processes; its SHA-256 goes along. No database."""

import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from apps.common.hashing import Sha256

READ_BYTES = 1 << 20
# What this process remembers of files that still grow; whoever finds nothing here reads the file again.
MOST_REMEMBERED = 256
# How long a writer that goes on waits for the disk, each time it asks what is safe.
FLUSH_WAIT_S = 0.2
_flushers = ThreadPoolExecutor(8, thread_name_prefix="flush")


class _Memory:
    """How far a file was hashed by this process, by the file's name."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[int, Sha256 | None]] = OrderedDict()

    def take(self, name: str, *, at_bytes: int) -> Sha256 | None:
        """The hash of the first `at_bytes`, None when it is not known here; it is forgotten."""
        size, known = self._kept.pop(name, (-1, None))
        return known if size == at_bytes else None

    def keep(self, name: str, size_bytes: int, known: Sha256) -> None:
        """Remember it in place of the oldest one."""
        self._kept[name] = (size_bytes, known)
        while len(self._kept) > MOST_REMEMBERED:
            self._kept.popitem(last=False)


_memory = _Memory()


class Growing:
    """The file from `offset_bytes` on; what lies beyond, of a writer that died, is cut off first."""

    def __init__(self, path: Path, *, offset_bytes: int) -> None:
        self._path = path
        self.size_bytes = offset_bytes
        self._sha256 = _memory.take(path.name, at_bytes=offset_bytes) or (None if offset_bytes else Sha256())
        self._file = path.open("r+b", buffering=0)
        self._file.truncate(offset_bytes)
        self._file.seek(offset_bytes)
        self._safe_bytes = offset_bytes
        self._flushing: tuple[int, Future[None]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._flushing:
            wait([self._flushing[1]])
        self._file.close()
        if self._sha256 is not None:
            _memory.keep(self._path.name, self.size_bytes, self._sha256)

    def write(self, piece: bytes) -> None:
        """Append the piece whole, or raise and leave the file as it was."""
        try:
            left = memoryview(piece)
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            self.cut(self.size_bytes)
            raise
        if self._sha256 is not None:
            self._sha256.update(piece)
        self.size_bytes += len(piece)

    def cut(self, size_bytes: int) -> None:
        """Drop what lies beyond; what was hashed beyond it is forgotten."""
        self._file.truncate(size_bytes)
        self._file.seek(size_bytes)
        if size_bytes != self.size_bytes:
            self._sha256, self.size_bytes = None, size_bytes

    def safe_bytes(self) -> int:
        """How many bytes are on the disk for certain; the others are brought there while the writer goes on."""
        if self._flushing is None:
            self._flushing = (self.size_bytes, _flushers.submit(os.fdatasync, self._file.fileno()))
        size, flushed = self._flushing
        if wait([flushed], timeout=FLUSH_WAIT_S).done:
            flushed.result()
            self._safe_bytes, self._flushing = size, None
        return self._safe_bytes

    def flush(self) -> None:
        """Make what was written last through a power cut."""
        os.fdatasync(self._file.fileno())


def block_digests(path: Path, *, size_bytes: int, block_bytes: int, first: int, most: int) -> list[str]:
    """The SHA-256 of each block from number `first` on, `most` of them; the last one ends where the file does."""
    with path.open("rb") as reader:
        starts = range(first * block_bytes, size_bytes, block_bytes)[:most]
        return [_part_digest(reader, start, min(block_bytes, size_bytes - start)) for start in starts]


def _part_digest(reader: BinaryIO, start: int, size_bytes: int) -> str:
    known, left = hashlib.sha256(), size_bytes
    reader.seek(start)
    while left and (piece := reader.read(min(READ_BYTES, left))):
        known.update(piece)
        left -= len(piece)
    return known.hexdigest()


def digest_of(path: Path, *, size_bytes: int, on_progress: Callable[[], None]) -> str:
    """The whole file's SHA-256: as it came in, or read again where another process received a part of it."""
    known = _memory.take(path.name, at_bytes=size_bytes)
    if known is None:
        known = Sha256()
        with path.open("rb", buffering=0) as reader:
            while piece := reader.read(READ_BYTES):
                known.update(piece)
                on_progress()
    _memory.keep(path.name, size_bytes, known)
    return known.hexdigest()
