"""The unpacked bytes of a tar as the tar library sees them: forward only, counted, in small pieces.

The library takes an entry's extended records and its list of holes as they come, in time and memory that grow with the
square of what they are: 1 KiB of a .tar.gz kept it busy for hours, another one took 3 GB. So they are held against
their own grammar, and bounded, before it sees them.
"""

import re
import tarfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from apps.registry.refusals import ArchiveCorrupt, Refused

BLOCK_BYTES = 512
# A header says how long its name is, and the library reads that much at once.
MAX_READ_BYTES = 4 << 20
# Headers, long names and padding of one entry.
OVERHEAD_BYTES = 16 << 10
CLOSING_BYTES = 1 << 20
# All that stands before an entry's own bytes: names, extended records, where its holes are.
MAX_HEADER_BYTES = 1 << 20
EXTENDED = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
_RECORD = re.compile(rb"(\d{1,7}) [^=\0]{1,1000}=")
# No number in a record has so many digits; the library looks for its records at each of them anew.
_DIGITS = re.compile(rb"\d{100}")


class Source(Protocol):
    """Bytes as they come out of a .gz or .zst, or of the file itself."""

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes."""

    def seek(self, position: int, whence: int = 0, /) -> int:
        """Go on to a place."""

    def tell(self) -> int:
        """Where we are."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much may come out, of how many entries, and what to raise where it is more."""

    bytes: int
    entries: int
    exceeded: Callable[[], Refused]


class Tape:
    """A file for `tarfile`, whose reads are bounded one by one and in all."""

    def __init__(self, source: Source, bounds: Bounds) -> None:
        self._source = source
        self._exceeded = bounds.exceeded
        self._end = bounds.bytes + (bounds.entries + 1) * OVERHEAD_BYTES + CLOSING_BYTES
        self._last = b""
        self._header_left: int | None = None
        self.name = ""
        self.mode = "rb"

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, which must be bounded."""
        if not 0 <= size <= MAX_READ_BYTES:
            raise ArchiveCorrupt("the archive is damaged: a header of it claims an impossible length")
        self._require_within(self.tell() + size)
        is_extended = self._take_from_header(size)
        self._last = self._source.read(size)
        if is_extended:
            _require_records(self._last)
        return self._last

    @contextmanager
    def header(self) -> Iterator[None]:
        """What is read within stands before an entry's own bytes."""
        self._header_left, self._last = MAX_HEADER_BYTES, b""
        try:
            yield
        finally:
            self._header_left = None

    def _take_from_header(self, size: int) -> bool:
        """Whether what comes now are extended records."""
        if self._header_left is None:
            return False
        self._header_left -= size
        if self._header_left < 0:
            raise ArchiveCorrupt(f"the archive is damaged: more than {MAX_HEADER_BYTES:,} bytes stand before one entry")
        return is_header(self._last, types=EXTENDED)

    def seek(self, position: int, whence: int = 0) -> int:
        """Forward only: backward would unpack all again."""
        if whence != 0 or position < self.tell():
            raise ArchiveCorrupt("the archive is damaged: a header of it points back")
        self._require_within(position)
        return self._source.seek(position)

    def tell(self) -> int:
        """Bytes unpacked so far."""
        return self._source.tell()

    @property
    def is_at_closing_block(self) -> bool:
        """Whether what was read last is a whole block of zeros."""
        return self._last == bytes(BLOCK_BYTES)

    def drain(self) -> None:
        """Read on to the end, so that the check sum is compared."""
        while self.read(1 << 20):
            pass

    def _require_within(self, position: int) -> None:
        if position > self._end:
            raise self._exceeded()


def is_header(block: bytes, *, types: Collection[bytes] = ()) -> bool:
    """Whether it is a header by its own check sum, the oldest tars have no other mark; of one of `types`, if any."""
    try:
        found = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return not types or found.type in types


def _require_records(body: bytes) -> None:
    """Each `length name=value` and a line's end, one after another, then nothing but zeros."""
    at, damaged = 0, ArchiveCorrupt("the archive is damaged: the records before an entry are no records")
    while at < len(body) and body[at]:
        found = _RECORD.match(body, at)
        end = at + int(found[1]) if found else 0
        if found is None or not found.end() < end <= len(body) or body[end - 1 : end] != b"\n":
            raise damaged
        at = end
    if body[at:].strip(b"\0") or _DIGITS.search(body):
        raise damaged
