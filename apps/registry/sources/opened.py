"""What every kind of source gives."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Opened:
    """A source's bytes from `offset_bytes` on, as they come.

    `mark` changes when the bytes do; it is empty where one cannot go on later from where one was. `size_bytes` is of
    the whole, None where the source does not tell.
    """

    filename: str
    size_bytes: int | None
    mark: str
    offset_bytes: int
    pieces: Iterator[bytes]


@dataclass(frozen=True, slots=True)
class Position:
    """How far one was, of the bytes with that mark."""

    offset_bytes: int = 0
    mark: str = ""
