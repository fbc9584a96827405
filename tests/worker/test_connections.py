"""What a worker keeps between tasks: its connection to the database, made anew if broken, and what it began with."""

import gc

import pytest
from celery import signals
from celery.fixups.django import DjangoFixup
from celery.utils.dispatch import Signal
from django.db import connection

from controlplane.celery import app
from worker.tasks import sweep


def end_a_task() -> None:
    """As a worker does, between one task and the next."""
    DjangoFixup(app).worker_fixup.on_task_postrun(sweep)
    signals.task_postrun.send(sender=sweep, task=sweep)
    signals.task_prerun.send(sender=sweep, task=sweep)


def asked() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
def test_the_next_task_has_the_same_connection() -> None:
    before = asked()

    end_a_task()

    assert asked() == before


@pytest.mark.django_db(transaction=True)
def test_a_task_after_the_database_was_away_has_a_new_connection() -> None:
    before = asked()
    connection.connection.close()

    end_a_task()

    assert asked() != before


@pytest.mark.parametrize("begun", [signals.worker_ready, signals.worker_process_init], ids=["worker", "process"])
def test_what_a_worker_begins_with_is_not_looked_through_again_and_again(begun: Signal) -> None:
    known = {"a": "object that was there"}

    begun.send(sender=None)

    frozen = gc.get_freeze_count()
    is_looked_through = any(one is known for one in gc.get_objects())
    gc.unfreeze()
    assert (frozen > 10_000, is_looked_through) == (True, False)
