"""The unpacked bytes of a tar as the tar library sees them: forward only, counted, in small pieces."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from apps.registry.refusals import ArchiveCorrupt, Refused

BLOCK_BYTES = 512
# A header says how long its name is, and the library reads that much at once.
MAX_READ_BYTES = 4 << 20
# Headers, long names and padding of one entry.
OVERHEAD_BYTES = 16 << 10
CLOSING_BYTES = 1 << 20


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
        self.name = ""
        self.mode = "rb"

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, which must be bounded."""
        if not 0 <= size <= MAX_READ_BYTES:
            raise ArchiveCorrupt("the archive is damaged: a header of it claims an impossible length")
        self._require_within(self.tell() + size)
        self._last = self._source.read(size)
        return self._last

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
