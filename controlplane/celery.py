"""The Celery application: broker, safety settings and the clock's schedule."""

import gc
import os
import sys
from typing import Any

from celery import Celery, signals
from kombu.transport import redis

from controlplane import env

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")


class _Channel(redis.Channel):
    """A channel that says so when its connection is lost.

    With kombu 5.7 a message that is settled after the broker was lost, because its task ran meanwhile, raises
    AttributeError in the event loop and ends the worker; a connection error it takes calmly: the message comes again.
    """

    def _connparams(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        if self.connection is None or self.connection.client is None:
            raise ConnectionError("the connection to the broker was lost")
        return dict(super()._connparams(*args, **kwargs))  # type: ignore[misc]


redis.Transport.Channel = _Channel
app = Celery("conch", broker=env.text("CONCH_BROKER_URL"), include=["worker.tasks"])
app.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    task_default_queue="conch",
    worker_prefetch_multiplier=1,
    worker_send_task_events=False,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    # Above the longest task; since kombu 5.7 a killed worker's message is given back within a second of it.
    broker_transport_options={
        "visibility_timeout": 60,
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
        "socket_timeout": 5,
        "socket_connect_timeout": 5,
        # A broker that is down must not hold up the request that wakes a worker: the sweep will find the row.
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0,
        "interval_max": 0,
    },
    # Celery would close the database's connections after each task, and a new one costs PostgreSQL more than the task.
    CELERY_DB_REUSE_MAX=sys.maxsize,
    timezone="UTC",
    beat_schedule={
        "observe": {
            "task": "conch.observe_fleet",
            "schedule": env.number("CONCH_OBSERVE_EVERY_S"),
            "options": {"expires": env.number("CONCH_OBSERVE_EVERY_S")},
        },
        "sweep": {
            "task": "conch.sweep",
            "schedule": env.number("CONCH_SWEEP_EVERY_S"),
            "options": {"expires": env.number("CONCH_SWEEP_EVERY_S")},
        },
        "warm-up": {"task": "conch.warm_due", "schedule": 5, "options": {"expires": 5}},
        "self-check": {"task": "conch.check_itself", "schedule": 15, "options": {"expires": 15}},
        "tidy": {"task": "conch.tidy", "schedule": 3_600, "options": {"expires": 600}},
    },
)


@signals.worker_ready.connect
@signals.worker_process_init.connect
def _look_at_what_comes_only(**_: object) -> None:
    """What a worker, or a process of its pool, begins with stays there: without this all of it is looked through again
    and again, 100 ms each time for every thread.
    """
    gc.collect()
    gc.freeze()


@signals.task_prerun.connect
@signals.task_postrun.connect
def _keep_good_connections(task: Any, **_: object) -> None:
    """As Django does between two requests: what is too old or broken goes, what is kept is tried before it is used."""
    if not task.request.is_eager:
        # Settings are read once the application is there.
        from django.db import close_old_connections  # noqa: PLC0415

        close_old_connections()
