"""A worker's connection to the database lasts from one task to the next; one that is broken is made anew."""

import pytest
from celery import signals
from celery.fixups.django import DjangoFixup
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
