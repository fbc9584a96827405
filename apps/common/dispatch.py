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


class _Broker:
    """When the broker may be asked again, by time.monotonic()."""

    next_attempt_s = 0.0


def wake(task: str, *, after_s: float = 0, **kwargs: Any) -> None:
    """Ask a worker to run `task` once the open transaction, if any, is committed.

    A broker that is down costs nothing but time: the sweep wakes whatever is due.
    """
    transaction.on_commit(partial(_send, task, after_s, kwargs))


def _send(task: str, after_s: float, kwargs: dict[str, Any]) -> None:
    if time.monotonic() < _Broker.next_attempt_s:
        return
    try:
        current_app.send_task(task, kwargs=kwargs, countdown=after_s or None, retry=False, ignore_result=True)
    except (OperationalError, OSError) as error:
        _Broker.next_attempt_s = time.monotonic() + NO_ATTEMPT_FOR_S
        log.warning("could not wake %s, the sweep will: %s", task, error)
