"""Reading .zip, .tar, .tar.gz and .tar.zst entry by entry, whatever they hold. The formats' faults get names here."""

import errno
import gzip
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Protocol

import zstandard

from apps.registry.refusals import (
    ArchiveCorrupt,
    ArchiveEncrypted,
    CompressionUnknown,
    NotAnArchive,
    Refused,
    TooManyEntries,
    WindowTooLarge,
)
from apps.registry.tape import BLOCK_BYTES, Bounds, Source, Tape, is_header

ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
GZIP_START, ZSTD_START = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
# zstd may ask for as much memory as its sender liked; its usual levels ask for 8 MiB.
ZSTD_WINDOW_BYTES = 32 << 20
ENCRYPTED_FLAG, UTF8_FLAG = 0x1, 0x800
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# The directory at a .zip's end is read whole; real names are short.
DIRECTORY_BYTES_PER_ENTRY = 2_048
END_BYTES = 22 + 65_535
ZIP64_MARK = 0xFFFFFFFF

_BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    gzip.BadGzipFile,
    zlib.error,
    zstandard.ZstdError,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
    LookupError,
)


class EntryKind(StrEnum):
    """What an archive says an entry is."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    DEVICE = "device"


class Stream(Protocol):
    """An entry's bytes; raises ArchiveCorrupt."""

    def read(self, size: int) -> bytes:
        """At most `size` bytes, none at the end."""

    def close(self) -> None:
        """Give it back; the archive stays open."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry as the archive tells it: nothing in `name` is to be trusted."""

    name: str
    kind: EntryKind
    open: Callable[[], Stream]


def entries(
    path: Path, *, max_entries: int, max_bytes: int, exceeded: Callable[[], Refused]
) -> Generator[Entry, None, None]:
    """The archive's entries in their order; each must be read, or left, before the next is asked for.

    `exceeded` is what to raise where more than `max_bytes` come out.
    """
    if is_zip(path):
        return _zip_entries(path, max_entries=max_entries)
    if is_archive(path):
        return _tar_entries(path, Bounds(max_bytes, max_entries, exceeded))
    raise NotAnArchive("the upload is no .zip, .tar, .tar.gz or .tar.zst", field="file")


def is_zip(path: Path) -> bool:
    """Whether the file begins as a .zip does; what comes then is another question."""
    return _start(path)[:4] in ZIP_STARTS


def is_archive(path: Path) -> bool:
    """Whether the file begins as one of the archives that are taken."""
    start = _start(path)
    return start[:4] in (*ZIP_STARTS, ZSTD_START) or start.startswith(GZIP_START) or is_header(start)


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(BLOCK_BYTES)


@contextmanager
def _reading() -> Iterator[None]:
    """What the libraries say about damaged bytes, as one error."""
    try:
        yield
    except _BROKEN as error:
        raise ArchiveCorrupt(f"the archive is damaged or cut off: {error or type(error).__name__}") from error
    except OSError as error:
        # A place before the file's beginning; any other is the disk's fault, not the archive's.
        if error.errno != errno.EINVAL:
            raise
        raise ArchiveCorrupt("the archive is damaged: it points to a place before its own beginning") from error


class _Checked:
    """A stream of the libraries, whose errors get Conch's name."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source

    def read(self, size: int) -> bytes:
        with _reading():
            return self._source.read(size)

    def close(self) -> None:
        self._source.close()


def _zip_entries(path: Path, *, max_entries: int) -> Generator[Entry, None, None]:
    _check_directory(path, max_entries)
    with _reading():
        archive = zipfile.ZipFile(path)
    with archive:
        for info in archive.infolist():
            yield _zip_entry(archive, info)


def _zip_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Entry:
    name = _zip_name(info)
    kind = _kind_of_mode(info.external_attr >> 16, is_directory=name.endswith("/"))
    if info.flag_bits & ENCRYPTED_FLAG:
        raise ArchiveEncrypted(name)
    if info.compress_type not in METHODS:
        raise CompressionUnknown(name)

    def opened() -> Stream:
        with _reading():
            return _Checked(archive.open(info))

    return Entry(name, kind, opened)


def _zip_name(info: zipfile.ZipInfo) -> str:
    """The whole name: the library cuts it at a NUL, and takes names without a mark for code page 437."""
    if info.flag_bits & UTF8_FLAG:
        return info.orig_filename
    return info.orig_filename.encode("cp437").decode("utf-8", "surrogateescape")


def _kind_of_mode(mode: int, *, is_directory: bool) -> EntryKind:
    kinds = {0: EntryKind.FILE, stat.S_IFREG: EntryKind.FILE, stat.S_IFDIR: EntryKind.DIRECTORY}
    kind = kinds.get(stat.S_IFMT(mode), EntryKind.LINK if stat.S_ISLNK(mode) else EntryKind.DEVICE)
    return EntryKind.DIRECTORY if is_directory and kind == EntryKind.FILE else kind


def _check_directory(path: Path, max_entries: int) -> None:
    """Refuse a directory too large to be read into memory, before the library reads it."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - END_BYTES - 20))
        tail = file.read()
        at = tail.rfind(b"PK\x05\x06")
        if at < 0 or len(tail) < at + 22:
            raise ArchiveCorrupt("the archive is cut off: a .zip ends with its directory, and there is none")
        count, directory_bytes = struct.unpack("<HI", tail[at + 10 : at + 16])
        if directory_bytes == ZIP64_MARK or count == 0xFFFF:  # noqa: PLR2004
            directory_bytes = _zip64_directory_bytes(file, tail, at, directory_bytes)
    if directory_bytes > max_entries * DIRECTORY_BYTES_PER_ENTRY:
        raise TooManyEntries(f"the archive has more than {max_entries:,} entries", limit=max_entries)


def _zip64_directory_bytes(file: IO[bytes], tail: bytes, at: int, directory_bytes: int) -> int:
    locator = tail[max(0, at - 20) : at]
    if not locator.startswith(b"PK\x06\x07"):
        return directory_bytes
    file.seek(min(struct.unpack("<Q", locator[8:16])[0], 2**62))
    record = file.read(56)
    if not record.startswith(b"PK\x06\x06") or len(record) < 56:  # noqa: PLR2004
        raise ArchiveCorrupt("the archive is damaged: its 64-bit directory is not where it should be")
    return int(struct.unpack("<Q", record[40:48])[0])


@contextmanager
def _unpacked(path: Path) -> Iterator[Source]:
    """The tar's own bytes."""
    start = _start(path)
    with path.open("rb") as file:
        if start.startswith(GZIP_START):
            with gzip.open(file) as unpacked:
                yield unpacked
        elif start.startswith(ZSTD_START):
            _require_small_window(start)
            reader = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES)
            with reader.stream_reader(file, read_across_frames=True) as stream:
                yield stream
        else:
            yield file


def _require_small_window(start: bytes) -> None:
    with _reading():
        window = zstandard.get_frame_parameters(start).window_size
    if window > ZSTD_WINDOW_BYTES:
        raise WindowTooLarge(
            f"unpacking the .tar.zst takes {window:,} bytes of memory, at most {ZSTD_WINDOW_BYTES:,} are given",
            limit=ZSTD_WINDOW_BYTES,
        )


def _tar_entries(path: Path, bounds: Bounds) -> Generator[Entry, None, None]:
    with _unpacked(path) as unpacked:
        tape = Tape(unpacked, bounds)
        try:
            with tape.header():
                archive = tarfile.TarFile(fileobj=tape, encoding="utf-8", errors="surrogateescape")  # type: ignore[arg-type]
        except tarfile.ReadError as error:
            raise NotAnArchive(f"there is no tar archive in it: {error}", field="file") from error
        except _BROKEN as error:
            raise ArchiveCorrupt(f"the archive is damaged or cut off: {error or type(error).__name__}") from error
        while (member := _next_member(archive, tape)) is not None:
            yield _tar_entry(archive, member)
        _check_end(tape)


def _next_member(archive: tarfile.TarFile, tape: Tape) -> tarfile.TarInfo | None:
    with _reading(), tape.header():
        return archive.next()


def _tar_entry(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Entry:
    if member.size < 0:
        raise ArchiveCorrupt(f"the archive is damaged: {member.name[:200]!r} claims to have {member.size} bytes")

    def opened() -> Stream:
        with _reading():
            source = archive.extractfile(member)
        if source is None:
            raise ArchiveCorrupt(f"the archive is damaged: {member.name[:200]!r} has no bytes")
        return _Checked(source)

    return Entry(member.name, _kind_of_member(member), opened)


def _kind_of_member(member: tarfile.TarInfo) -> EntryKind:
    if member.isreg():
        return EntryKind.FILE
    if member.isdir():
        return EntryKind.DIRECTORY
    return EntryKind.LINK if member.issym() or member.islnk() else EntryKind.DEVICE


def _check_end(tape: Tape) -> None:
    """The library ends quietly at a damaged header; only the closing block, and the .gz's own sum, tell."""
    if not tape.is_at_closing_block:
        raise ArchiveCorrupt("the archive is damaged or cut off: it ends without its closing block")
    with _reading():
        tape.drain()
