"""Unpacking an upload: every entry checked, counted and hashed on its way to the disk."""

import hashlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from apps.registry import archives, refusals
from apps.registry.archives import EntryKind
from apps.registry.paths import Census, Parts, is_junk, parts_of

CHUNK_BYTES = 1 << 20
# As much comes out of any archive, however small: no file system is filled by it, and sparse weights are real.
FREE_BYTES = 100 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What an archive may hold; `unpacked_bytes` counts what really comes out.

    Of an archive's bytes at most `ratio` times as many may come out, or `free_bytes` where that is more; 0: any number.
    """

    entries: int
    unpacked_bytes: int
    ratio: int = 0
    free_bytes: int = FREE_BYTES

    def of(self, archive_bytes: int) -> int:
        """How many bytes may come out of an archive of that size."""
        allowed = max(self.free_bytes, self.ratio * archive_bytes) if self.ratio else self.unpacked_bytes
        return min(allowed, self.unpacked_bytes)

    def exceeded(self, archive_bytes: int) -> refusals.Refused:
        """The refusal of an archive out of which more came."""
        allowed = self.of(archive_bytes)
        if allowed == self.unpacked_bytes:
            return refusals.UnpackedTooLarge(
                f"more than {allowed:,} bytes come out of the archive", limit=self.unpacked_bytes
            )
        return refusals.RatioTooHigh(
            f"more than {allowed:,} bytes come out of an archive of {archive_bytes:,}", limit=self.ratio
        )


@dataclass(frozen=True, slots=True)
class UnpackedFile:
    """One file that came out of the archive."""

    path: Parts
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What came out, and what was left out as of no use to any server."""

    files: tuple[UnpackedFile, ...]
    directories: frozenset[Parts]
    dropped: tuple[str, ...]


def unpack(archive: Path, tree: Path, *, limits: Limits, on_progress: Callable[[], None]) -> Unpacked:
    """Bring every entry that a server may need into `tree`."""
    census = Census(max_entries=limits.entries)
    files: list[UnpackedFile] = []
    directories: set[Parts] = set()
    dropped: list[str] = []
    size = archive.stat().st_size
    left, exceeded = limits.of(size), partial(limits.exceeded, size)
    found = archives.entries(archive, max_entries=limits.entries, max_bytes=left, exceeded=exceeded)
    with closing(found):
        for entry in found:
            census.count()
            parts = parts_of(entry.name)
            _require_plain(entry)
            if is_junk(parts):
                dropped.append("/".join(parts))
            elif entry.kind == EntryKind.DIRECTORY or not parts:
                census.add_directory(parts)
                directories.add(parts)
                tree.joinpath(*parts).mkdir(parents=True, exist_ok=True)
            else:
                census.add_file(parts)
                files.append(_write(entry, parts, tree, left=left, exceeded=exceeded, on_progress=on_progress))
                left -= files[-1].size_bytes
    return Unpacked(tuple(files), frozenset(directories - {()}), tuple(dropped))


def _require_plain(entry: archives.Entry) -> None:
    if entry.kind == EntryKind.LINK:
        raise refusals.LinkInArchive(entry.name)
    if entry.kind == EntryKind.DEVICE:
        raise refusals.DeviceInArchive(entry.name)


def _write(
    entry: archives.Entry,
    parts: Parts,
    tree: Path,
    *,
    left: int,
    exceeded: Callable[[], refusals.Refused],
    on_progress: Callable[[], None],
) -> UnpackedFile:
    target = tree.joinpath(*parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with closing(entry.open()) as source, target.open("xb") as writer:
        while chunk := source.read(CHUNK_BYTES):
            size += len(chunk)
            if size > left:
                raise exceeded()
            digest.update(chunk)
            writer.write(chunk)
            on_progress()
    return UnpackedFile(parts, size, digest.hexdigest())


def take_file(upload: Path, tree: Path, *, name: str, limits: Limits, on_progress: Callable[[], None]) -> Unpacked:
    """A model's file that came by itself, as if it were the one entry of an archive."""
    if upload.stat().st_size > limits.unpacked_bytes:
        raise refusals.UnpackedTooLarge(
            f"the file has more than {limits.unpacked_bytes:,} bytes", limit=limits.unpacked_bytes
        )
    entry = archives.Entry(name, EntryKind.FILE, lambda: upload.open("rb"))
    written = _write(
        entry,
        (name,),
        tree,
        left=limits.unpacked_bytes,
        exceeded=partial(limits.exceeded, limits.unpacked_bytes),
        on_progress=on_progress,
    )
    return Unpacked((written,), frozenset(), ())
