"""A number that is taken while an upload comes in costs nobody a byte."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from apps.audit.models import Event
from apps.common.actor import COMMAND
from apps.common.errors import NotAllowed
from apps.registry import artifacts, services
from apps.registry.errors import (
    NothingToNumber,
    NumberInvalid,
    NumberTakenMeanwhile,
    UploadUnknown,
    VersionNumberTaken,
)
from apps.registry.models import Upload, Version
from tests.apps.registry.conftest import files_under
from tests.apps.registry.sending import CONTENT, DIGEST, OPERATOR, OTHER, VIEWER, Begin, send
from tests.factories.archives import good, zipped

Receive = Callable[..., Version]


@pytest.fixture
def waiting(begin: Begin, receive: Receive) -> Upload:
    """An upload, all here, whose number 1 was taken while it came."""
    upload = begin(number=1, notes="mine", filename="demo.zip", fingerprint="f")
    receive(zipped(good()), number=1)
    with pytest.raises(NumberTakenMeanwhile):
        send(upload, CONTENT)
    upload.refresh_from_db()
    return upload


def test_the_bytes_wait_and_what_to_do_is_said(waiting: Upload, store: Path) -> None:
    with pytest.raises(NumberTakenMeanwhile) as again:
        send(waiting, b"", at=len(CONTENT))

    assert (waiting.state, waiting.error["code"], waiting.digest) == ("numbering", "number_taken_meanwhile", DIGEST)
    assert again.value.facts["upload"] == waiting.key
    assert "has a version 1 by now" in again.value.message
    assert "/number" in again.value.hint
    assert artifacts.incoming(store, waiting.key).read_bytes() == CONTENT


@pytest.mark.parametrize(("asked", "got"), [(None, 2), (7, 7)])
def test_with_another_number_it_becomes_the_version_it_would_have_been(
    asked: int | None, got: int, waiting: Upload
) -> None:
    version = services.number_upload(OPERATOR, waiting.key, number=asked)

    services.check_version(version.pk, now=timezone.now())
    version.refresh_from_db()
    waiting.refresh_from_db()
    assert (version.number, version.state, version.digest, version.notes) == (got, "ready", DIGEST, "mine")
    assert (waiting.state, waiting.version, waiting.error) == ("finished", version, {})
    assert Event.objects.filter(verb="add_version", actor="ci", subject=f"demo version {got}").count() == 1


def test_it_is_numbered_once(waiting: Upload) -> None:
    services.number_upload(OPERATOR, waiting.key, number=None)

    with pytest.raises(NothingToNumber, match="is finished"):
        services.number_upload(OPERATOR, waiting.key, number=None)

    assert Version.objects.count() == 2


def test_a_number_that_is_none_or_taken_too_changes_nothing(waiting: Upload) -> None:
    with pytest.raises(VersionNumberTaken):
        services.number_upload(OPERATOR, waiting.key, number=1)
    with pytest.raises(NumberInvalid):
        services.number_upload(OPERATOR, waiting.key, number=0)

    waiting.refresh_from_db()
    assert waiting.state == "numbering"


def test_only_who_began_it_may_number_it(waiting: Upload) -> None:
    with pytest.raises(UploadUnknown):
        services.number_upload(OTHER, waiting.key, number=None)
    with pytest.raises(NotAllowed):
        services.number_upload(VIEWER, waiting.key, number=None)


def test_the_sweeps_leave_it_until_its_time_is_up(waiting: Upload, store: Path) -> None:
    now = timezone.now()

    due = services.due_uploads(now)
    services.sweep_store()
    early, kept = services.sweep_uploads(now + timedelta(hours=23)), files_under(store)
    late = services.sweep_uploads(now + timedelta(hours=25))

    assert (due, early, late) == ([], 0, 1)
    assert (f"incoming/{waiting.key}" in kept, f"incoming/{waiting.key}" in files_under(store)) == (True, False)


def test_it_can_be_discarded(waiting: Upload, store: Path) -> None:
    services.discard_upload(OPERATOR, waiting.key)

    assert not artifacts.incoming(store, waiting.key).exists()


def test_the_sweep_keeps_one_whose_process_died_before_it_could_say_so(
    begin: Begin, receive: Receive, store: Path
) -> None:
    upload = begin(number=1)
    artifacts.incoming(store, upload.key).write_bytes(CONTENT)
    Upload.objects.update(received_bytes=len(CONTENT))
    receive(zipped(good()), number=1)

    services.finish_upload(upload.key)

    upload.refresh_from_db()
    assert (upload.state, services.number_upload(OPERATOR, upload.key, number=None).number) == ("numbering", 2)


def test_an_upload_in_one_request_loses_nothing_either(registered: str, store: Path) -> None:
    def taken_meanwhile() -> Iterator[bytes]:
        yield CONTENT[:100]
        services.add_version(COMMAND, model="demo", upload=services.Upload("first.zip", [CONTENT]), number=3)
        yield CONTENT[100:]

    with pytest.raises(NumberTakenMeanwhile) as refused:
        services.add_version(
            OPERATOR, model="demo", upload=services.Upload("demo.zip", taken_meanwhile()), number=3, notes="mine"
        )

    version = services.number_upload(OPERATOR, refused.value.facts["upload"], number=None)
    services.check_version(version.pk, now=timezone.now())
    version.refresh_from_db()
    assert (version.number, version.state, version.notes, version.filename) == (4, "ready", "mine", "demo.zip")


@pytest.mark.django_db(transaction=True)
def test_of_two_that_number_it_at_once_one_does(waiting: Upload) -> None:
    ended: list[object] = []

    def number() -> None:
        try:
            ended.append(services.number_upload(OPERATOR, waiting.key, number=None).number)
        except NothingToNumber:
            ended.append("none")
        finally:
            connection.close()

    threads = [threading.Thread(target=number) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(map(str, ended)) == ["2", "none"]
