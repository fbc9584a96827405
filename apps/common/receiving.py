"""A body received whole, in time and up to a size: one that drips in, or never ends, holds nobody up."""

from collections.abc import Callable
from time import monotonic

PIECE_BYTES = 1 << 16


class TooLong(ValueError):
    """More than anybody asked for."""


class TooSlow(TimeoutError):
    """Not all of it came in time, although something kept coming."""


def receive(read: Callable[[int], bytes], *, within_s: float, most_bytes: int) -> bytes:
    """All that `read` gives until it gives nothing; TooLong, TooSlow, or what `read` raises.

    `read` returns what is there, up to so many bytes. A time-out of its own begins anew with each byte.
    """
    body, until_s = bytearray(), monotonic() + within_s
    while piece := read(PIECE_BYTES):
        body += piece
        if len(body) > most_bytes:
            raise TooLong(f"more than {most_bytes:,} bytes")
        if monotonic() > until_s:
            raise TooSlow("the answer does not end")
    return bytes(body)
