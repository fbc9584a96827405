"""Waking a worker by task name. The row is the truth; a message is only a hint."""

import logging
import time
from functools import partial
from typing import Any

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)
# One that hangs takes seconds to give up on: of a request's many messages only the first must wait for it.
NO_ATTEMPT_FOR_S = 2.0
# The broker hands out 0 before 6: thousands of messages of the one hold up none of the other.
AT_ONCE, BEHIND = 0, 6


class _Broker:
    """When the broker may be asked again, by time.monotonic()."""

    next_attempt_s = 0.0


def wake(task: str, *, after_s: float = 0, is_behind: bool = False, **kwargs: Any) -> None:
    """Ask a worker to run `task` once the open transaction, if any, is committed; `is_behind` all that is not.

    A broker that is down costs nothing but time: the sweep wakes whatever is due.
    """
    transaction.on_commit(partial(_send, task, after_s, BEHIND if is_behind else AT_ONCE, kwargs))


def _send(task: str, after_s: float, priority: int, kwargs: dict[str, Any]) -> None:
    if time.monotonic() < _Broker.next_attempt_s:
        return
    try:
        current_app.send_task(
            task, kwargs=kwargs, countdown=after_s or None, priority=priority, retry=False, ignore_result=True
        )
    except (OperationalError, OSError) as error:
        _Broker.next_attempt_s = time.monotonic() + NO_ATTEMPT_FOR_S
        log.warning("could not wake %s, the sweep will: %s", task, error)
