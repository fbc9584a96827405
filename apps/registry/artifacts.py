"""The artifact store: bytes received by streaming, addressed by SHA-256, sealed once checked. No database."""

import errno
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from apps.common.disk import Disk, flush_directory
from apps.common.hashing import Sha256
from apps.registry.errors import StoreBroken, StoreFull, UploadBroken, UploadEmpty, UploadTooLarge

# `receiving` is where the web server keeps a file while it still comes in; see FILE_UPLOAD_TEMP_DIR.
INCOMING, STAGING, RECEIVING = "incoming", "staging", "receiving"
LEFTOVER_AGE_S = 3_600
# Longer than a proxy waits for the next byte of a form.
SILENT_FOR_S = 300
SHELF_CHARS, DIGEST_CHARS = 2, 64
SEALED_FILE_MODE = 0o444
# Of st_blocks, whatever the file system's own are.
BLOCK_BYTES = 512
# The reserve is left for everybody else on the file system.
STORE = Disk(full=StoreFull, broken=StoreBroken, reserve_bytes=16 << 20)
faults, require_room = STORE.faults, STORE.require_room


@dataclass(frozen=True, slots=True)
class Landed:
    """A whole file that lies on the store's file system already, and its SHA-256."""

    path: Path
    digest: str


@dataclass(frozen=True, slots=True)
class Upload:
    """A file on its way in: its name as the sender gave it, its bytes piece by piece, its size if known.

    For Django's uploaded files: `Upload(file.name, file.chunks(), file.size)`. One that has `landed` is not copied.
    """

    filename: str
    chunks: Iterable[bytes]
    size_bytes: int | None = None
    landed: Landed | None = None


@dataclass(frozen=True, slots=True)
class Received:
    """A received file: its name among the incoming ones, its SHA-256 and size."""

    name: str
    digest: str
    size_bytes: int


def receive(store: Path, upload: Upload, *, limit_bytes: int) -> Received:
    """Bring the upload into the store, hashed on the way; on any failure nothing of it is left."""
    if upload.size_bytes is not None:
        _require_small(upload.size_bytes, limit_bytes)
    target = store / INCOMING / secrets.token_hex(16)
    with faults(store, doing="receiving an upload", needed_bytes=upload.size_bytes or 0):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            received = _take(upload.landed, target) if upload.landed else None
            received = received or _copy(store, upload, target, limit_bytes=limit_bytes)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        flush_directory(target.parent)
    return received


def _take(landed: Landed, target: Path) -> Received | None:
    """The landed file under a second name; None where it lies on another file system."""
    try:
        os.link(landed.path, target)
    except OSError as error:
        if error.errno in {errno.EXDEV, errno.EPERM, errno.EMLINK}:
            return None
        raise
    with target.open("rb") as reader:
        os.fsync(reader.fileno())
        size = os.fstat(reader.fileno()).st_size
    if not size:
        raise UploadEmpty("the upload has no bytes", field="file")
    return Received(name=target.name, digest=landed.digest, size_bytes=size)


def _copy(store: Path, upload: Upload, target: Path, *, limit_bytes: int) -> Received:
    require_room(store, upload.size_bytes or 0)
    return _stream(upload, target, limit_bytes=limit_bytes)


def _stream(upload: Upload, target: Path, *, limit_bytes: int) -> Received:
    digest, size = Sha256(), 0
    with target.open("xb") as writer:
        for chunk in pieces(upload.chunks):
            size += len(chunk)
            _require_small(size, limit_bytes)
            digest.update(chunk)
            writer.write(chunk)
        if not size:
            raise UploadEmpty("the upload has no bytes", field="file")
        if upload.size_bytes is not None and size != upload.size_bytes:
            raise UploadBroken(f"{size:,} of {upload.size_bytes:,} bytes came", field="file")
        writer.flush()
        os.fsync(writer.fileno())
    return Received(name=target.name, digest=digest.hexdigest(), size_bytes=size)


def pieces(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The sender's bytes; an error of its connection is not one of our disk."""
    coming = iter(chunks)
    while True:
        try:
            piece = next(coming, None)
        except OSError as error:
            raise UploadBroken(f"the upload broke off: {error}", field="file") from error
        if piece is None:
            return
        yield piece


def _require_small(size_bytes: int, limit_bytes: int) -> None:
    if size_bytes > limit_bytes:
        raise UploadTooLarge(f"the upload has more than {limit_bytes:,} bytes", field="file", limit_bytes=limit_bytes)


def incoming(store: Path, name: str) -> Path:
    """Where a received file waits for its check."""
    return store / INCOMING / name


@dataclass(frozen=True, slots=True)
class Receiving:
    """Forms that still come in: what they were announced with, and how much of that is on the disk."""

    announced_bytes: int = 0
    written_bytes: int = 0


def receiving(store: Path) -> Receiving:
    """Each form's file has its whole length from the beginning, and blocks only where something came.

    One to which nothing came for minutes counts no longer: whoever received it was killed.
    """
    folder, since = store / RECEIVING, time.time() - SILENT_FOR_S
    found = [_stat(entry) for entry in os.scandir(folder)] if folder.is_dir() else []
    there = [one for one in found if one is not None and one.st_mtime >= since]
    return Receiving(
        announced_bytes=sum(one.st_size for one in there),
        written_bytes=sum(min(one.st_size, one.st_blocks * BLOCK_BYTES) for one in there),
    )


def _stat(entry: "os.DirEntry[str]") -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None


def make_incoming(store: Path, name: str) -> None:
    """An empty file for bytes that will come."""
    target = incoming(store, name)
    with faults(store, doing="beginning an upload"):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch(exist_ok=False)
        flush_directory(target.parent)


def drop_incoming(store: Path, name: str) -> None:
    """Remove a received file, if it is still there."""
    if name:
        incoming(store, name).unlink(missing_ok=True)


@contextmanager
def staging(store: Path) -> Iterator[Path]:
    """A fresh directory in the store; what is still in it at the end is removed."""
    directory = store / STAGING / secrets.token_hex(16)
    with faults(store, doing="making a folder to unpack in"):
        directory.mkdir(parents=True)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def seal(fresh: Path, target: Path) -> None:
    """Flush `fresh` and rename it to its lasting place; the same bytes sealed before are kept instead."""
    with faults(target.parent.parent, doing="sealing an artifact"):
        for directory, _, files in os.walk(fresh):
            for name in files:
                os.chmod(os.path.join(directory, name), SEALED_FILE_MODE)
            flush_directory(Path(directory))
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            fresh.rename(target)
        except OSError as error:
            if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                raise
            # Wanted again: whoever sweeps what no version has leaves it alone.
            os.utime(target)
        flush_directory(target.parent)
        flush_directory(target.parent.parent)


def leftovers(store: Path, *, keep_incoming: Collection[str]) -> dict[Path, int]:
    """What processes that died have left, with its bytes: received files that nobody waits for, staging."""
    found = [one for one in _old(store / INCOMING) if one.name not in keep_incoming]
    found += [*_old(store / RECEIVING), *_old(store / STAGING)]
    return {Path(one.path): _bytes_in(Path(one.path)) for one in found}


def sweep(store: Path, *, keep_incoming: Collection[str]) -> None:
    """Remove old leftovers."""
    for path in leftovers(store, keep_incoming=keep_incoming):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def orphans(store: Path, *, known: Collection[str]) -> dict[str, int]:
    """Sealed artifacts that no row knows, an hour old at least: digest and bytes of each."""
    shelves = [entry for entry in os.scandir(store) if len(entry.name) == SHELF_CHARS and entry.is_dir()]
    found = [one for shelf in shelves for one in _old(Path(shelf.path)) if len(one.name) == DIGEST_CHARS]
    return {one.name: _bytes_in(Path(one.path)) for one in found if one.name not in known}


def take_away(store: Path, digest: str, *, is_wanted: Callable[[], bool]) -> bool:
    """Remove a sealed artifact's directory, unless it is wanted again by the time it is out of the way."""
    place = store / digest[:SHELF_CHARS] / digest
    with faults(store, doing="removing an artifact"), staging(store) as away:
        try:
            place.rename(away / digest)
        except FileNotFoundError:
            return False
        if is_wanted():
            _put_again(away / digest, place)
            return False
        flush_directory(place.parent)
    return True


def _put_again(taken: Path, place: Path) -> None:
    try:
        taken.rename(place)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise


def _bytes_in(place: Path) -> int:
    files = [place, *place.rglob("*")]
    return sum(found.st_size for found in map(_stat_of, files) if found and stat.S_ISREG(found.st_mode))


def _stat_of(path: Path) -> os.stat_result | None:
    """None of one that just went."""
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


def _old(directory: Path) -> "list[os.DirEntry[str]]":
    if not directory.is_dir():
        return []
    before = time.time() - LEFTOVER_AGE_S
    return [entry for entry in os.scandir(directory) if _changed_at(entry) < before]


def _changed_at(entry: "os.DirEntry[str]") -> float:
    """A check under way touches its staging directory, see `intake`; a file that just went is not old."""
    try:
        return entry.stat(follow_symlinks=False).st_mtime
    except FileNotFoundError:
        return time.time()
