"""A process whose wall clock is wrong by as many seconds as a file says, from one moment to the next.

Python runs this before everything else where this folder is on the path. `time.monotonic` goes on as it does on a
machine whose clock is set. libfaketime cannot do it: with the monotonic clock left alone, `time.sleep` fails under it.
"""

import os
import time
from datetime import datetime, timedelta

from django.utils import timezone

_time, _now = time.time, timezone.now


def _skew_s() -> float:
    """Opened each time: Celery's beat closes all that was open when it starts."""
    file = os.open(os.environ["CONCH_TEST_SKEW"], os.O_RDONLY)
    try:
        return float(os.read(file, 20) or 0)
    finally:
        os.close(file)


def skewed_time() -> float:
    """In the place of time.time."""
    return _time() + _skew_s()


def skewed_now() -> datetime:
    """In the place of Django's now, by which everything of Conch goes."""
    return _now() + timedelta(seconds=_skew_s())


time.time, timezone.now = skewed_time, skewed_now
