"""Free ports that two processes choosing at once never both get.

All below 32768: the ports above are handed out by the kernel to outgoing connections, and
a client that polls a port nobody has bound yet can be given that very port.
"""

import fcntl
import os
import random
import socket
import tempfile
import time
from contextlib import closing
from pathlib import Path

from demo.parts.errors import PartMissing

LOWEST, HIGHEST = 20_000, 32_000
_held: dict[int, int] = {}


def free_port(*, preferred: int | None = None) -> int:
    """A loopback port nobody listens on, this process's own until it ends.

    `preferred` when it is free, else one between LOWEST and HIGHEST.
    """
    if preferred is not None and _claim(preferred):
        return preferred
    for port in random.sample(range(LOWEST, HIGHEST), 2_000):
        if _claim(port):
            return port
    raise PartMissing(f"no free port between {LOWEST} and {HIGHEST}")


def free_ports(count: int) -> list[int]:
    """Several free ports, all different."""
    return [free_port() for _ in range(count)]


def is_free(port: int) -> bool:
    """True when a server could listen on 127.0.0.1:port now."""
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def wait_until_free(port: int, *, timeout_s: float = 10.0) -> bool:
    """True as soon as it is free; False when it is not in time."""
    deadline = time.monotonic() + timeout_s
    while not is_free(port) and time.monotonic() < deadline:
        time.sleep(0.1)
    return is_free(port)


def _claim(port: int) -> bool:
    if port in _held:
        return False
    folder = Path(tempfile.gettempdir()) / f"conch-ports-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    claim = os.open(folder / str(port), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(claim)
        return False
    if not is_free(port):
        os.close(claim)
        return False
    _held[port] = claim
    return True
