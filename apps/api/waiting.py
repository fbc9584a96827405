"""Waiting for a row to come to its end, without holding a transaction or, where it can be helped, a connection."""

import time
from collections.abc import Callable
from threading import BoundedSemaphore

from django.db import connection

# A waiting request holds a web thread: no more than this many do at once, the others are answered at once.
MOST_WAITERS = 6
LONGEST_S = 60
# Quick at first, because a hot rollback is over in a moment; then calm.
QUICK_S, QUICK_FOR_S, CALM_S = 0.1, 3.0, 0.5
_waiters = BoundedSemaphore(MOST_WAITERS)


def wait_until(has_ended: Callable[[], bool], *, wait_s: float) -> bool:
    """Whether it has ended, asking again for up to `wait_s` seconds."""
    if has_ended():
        return True
    if wait_s <= 0 or not _waiters.acquire(blocking=False):
        return False
    try:
        return _poll(has_ended, min(wait_s, LONGEST_S))
    finally:
        _waiters.release()


def _poll(has_ended: Callable[[], bool], wait_s: float) -> bool:
    began = time.monotonic()
    while (waited_s := time.monotonic() - began) < wait_s:
        pause_s = QUICK_S if waited_s < QUICK_FOR_S else CALM_S
        if pause_s == CALM_S:
            _give_back_connection()
        time.sleep(min(pause_s, wait_s - waited_s))
        if has_ended():
            return True
    return False


def _give_back_connection() -> None:
    if not connection.in_atomic_block:
        connection.close()
