"""What is recorded stays, whoever asks."""

import pytest
from django.db import IntegrityError, connection

from apps.audit.models import AuditIsAppendOnly, Event
from apps.audit.services import record
from apps.common.actor import CLOCK

pytestmark = pytest.mark.django_db


def an_event() -> Event:
    record(CLOCK, "sweep", subject_kind="server", subject="prod-1")
    return Event.objects.get()


def test_an_event_is_neither_written_again_nor_removed() -> None:
    event = an_event()

    with pytest.raises(AuditIsAppendOnly):
        event.save()
    with pytest.raises(AuditIsAppendOnly):
        event.delete()


@pytest.mark.parametrize("statement", ["UPDATE audit_event SET reason = 'nothing happened'", "DELETE FROM audit_event"])
def test_the_database_itself_refuses(statement: str) -> None:
    an_event()

    with pytest.raises(IntegrityError, match="append-only"), connection.cursor() as cursor:
        cursor.execute(statement)
