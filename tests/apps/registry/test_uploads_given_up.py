"""An upload that goes away at the very moment at which something is asked of it."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from apps.audit.models import Event
from apps.common.actor import COMMAND
from apps.common.errors import ControlPlaneError
from apps.registry import artifacts, services
from apps.registry.errors import NumberTakenMeanwhile
from apps.registry.models import Upload, Version
from apps.registry.services.numbering import keep_unnumbered
from tests.apps.registry.conftest import files_under
from tests.apps.registry.sending import CONTENT, OPERATOR, Begin, send
from tests.factories.archives import good, zipped
from tests.factories.archives import upload as archive
from tests.fixtures.two_at_once import while_waiting

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time: nobody waits"),
]


@pytest.fixture
def waiting(begin: Begin, store: Path) -> Upload:
    """An upload, all here, whose number 1 was taken while it came."""
    upload = begin(number=1)
    services.add_version(COMMAND, model="demo", upload=archive(zipped(good())), number=1)
    with pytest.raises(NumberTakenMeanwhile):
        send(upload, CONTENT)
    return upload


def told(work: Callable[[], Any]) -> Callable[[], str]:
    """What it says in the end: an error's code, or its result."""

    def ended() -> str:
        try:
            return str(work())
        except ControlPlaneError as error:
            return error.code

    return ended


def discard(upload: Upload) -> Callable[[], Any]:
    return lambda: services.discard_upload(OPERATOR, upload.key)


def number(upload: Upload) -> Callable[[], Any]:
    return lambda: services.number_upload(OPERATOR, upload.key, number=None)


def expire(_: Upload) -> Callable[[], Any]:
    return lambda: services.sweep_uploads(timezone.now() + timedelta(days=2))


@pytest.mark.parametrize(("first", "second"), [(discard, number), (expire, number), (discard, discard)])
def test_what_is_asked_of_an_upload_that_has_just_gone_says_that_it_is_unknown(
    first: Callable[[Upload], Any], second: Callable[[Upload], Any], waiting: Upload, store: Path
) -> None:
    answer = while_waiting(first(waiting), told(second(waiting)))

    assert answer == "upload_unknown"
    assert (Upload.objects.count(), Version.objects.count()) == (0, 1)
    assert f"incoming/{waiting.key}" not in files_under(store)


@pytest.mark.parametrize(("second", "answer", "left"), [(discard, "None", 0), (expire, "1", 1)])
def test_one_that_has_just_got_its_number_keeps_its_bytes_whatever_comes_then(
    second: Callable[[Upload], Any], answer: str, left: int, waiting: Upload, store: Path
) -> None:
    said = while_waiting(number(waiting), told(second(waiting)))

    assert (said, Upload.objects.count()) == (answer, left)
    assert artifacts.incoming(store, waiting.key).read_bytes() == CONTENT
    assert Version.objects.get(number=2).incoming == waiting.key


def test_the_last_bytes_of_an_upload_that_has_just_gone_make_no_version(begin: Begin, store: Path) -> None:
    upload = begin()
    send(upload, CONTENT[:-1])
    upload.refresh_from_db()

    answer = while_waiting(discard(upload), told(lambda: send(upload, CONTENT[-1:], at=len(CONTENT) - 1)))

    assert (answer, Version.objects.count(), files_under(store)) == ("upload_unknown", 0, [])
    assert not Event.objects.filter(verb="add_version").exists()


def test_an_upload_that_another_process_has_kept_without_a_number_is_not_said_to_be_unknown(waiting: Upload) -> None:
    late = Upload.objects.get(pk=waiting.pk)
    late.state = "receiving"

    error = keep_unnumbered(late, late.digest)

    assert isinstance(error, NumberTakenMeanwhile)
    assert Upload.objects.get(pk=waiting.pk).state == "numbering"
