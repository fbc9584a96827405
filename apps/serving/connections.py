"""One open connection per process and server, opened at first use."""

import os
import threading

from apps.serving import backends
from apps.serving.protocol import Address, ServingBackend

QUICK_TIMEOUT_S = 3.0

_lock = threading.Lock()
_open: dict[tuple[int, str, Address], ServingBackend] = {}


def connection(kind: str, address: Address) -> ServingBackend:
    """The connection to that server. The process id is part of the key: a channel does not survive a fork."""
    key = (os.getpid(), kind, address)
    with _lock:
        if key not in _open:
            _open[key] = backends.get(kind).connect(address, QUICK_TIMEOUT_S)
        return _open[key]


def forget(address: Address) -> None:
    """Close what is open to that address: the server is retired, or its addresses changed."""
    with _lock:
        stale = [key for key in _open if key[2] == address]
        for key in stale:
            _open.pop(key).close()
