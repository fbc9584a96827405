"""Resumable uploads: whatever breaks, the bytes that came are kept, and the version is made once."""

import hashlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.audit.models import Event
from apps.registry import artifacts, growing, selectors, services
from apps.registry.errors import (
    ChecksumWrong,
    DigestWrong,
    OffsetWrong,
    UploadBroken,
    UploadBusy,
    UploadFailed,
    UploadOverrun,
)
from apps.registry.models import Upload, Version
from apps.registry.services import Checksum, Sending
from tests.apps.registry.conftest import files_under
from tests.apps.registry.sending import CONTENT, DIGEST, OPERATOR, Begin, breaking, kept, send


def test_pieces_become_a_version_that_passes(begin: Begin) -> None:
    upload = begin(number=4, git_commit="abc", notes="in two", filename="demo.zip")

    send(upload, CONTENT[:100])
    finished = send(upload, CONTENT[100:], at=100)

    version = Version.objects.get()
    services.check_version(version.pk, now=timezone.now())
    version.refresh_from_db()
    assert finished.version == version
    assert (version.number, version.state, version.digest) == (4, "ready", DIGEST)
    assert (version.git_commit, version.notes, version.filename, version.created_by) == (
        "abc",
        "in two",
        "demo.zip",
        "ci",
    )
    assert Event.objects.filter(verb="add_version", actor="ci", door="api").count() == 1


def test_what_came_before_the_connection_broke_is_kept(begin: Begin, store: Path) -> None:
    upload = begin()

    with pytest.raises(UploadBroken):
        services.append_upload(OPERATOR, upload.key, Sending(0, len(CONTENT), breaking(CONTENT[:200])))

    assert selectors.get_upload(OPERATOR, upload.key).received_bytes == 200
    assert kept(store, upload) == CONTENT[:200]
    assert send(upload, CONTENT[200:], at=200).version is not None


def test_a_request_that_ends_early_is_told_so_and_its_bytes_are_kept(begin: Begin) -> None:
    upload = begin()

    with pytest.raises(UploadBroken, match=f"50 of {len(CONTENT):,} bytes came; they are kept"):
        services.append_upload(OPERATOR, upload.key, Sending(0, len(CONTENT), [CONTENT[:50]]))

    assert selectors.get_upload(OPERATOR, upload.key).received_bytes == 50


def test_the_digest_is_right_where_another_process_received_the_first_part(begin: Begin) -> None:
    upload = begin()
    send(upload, CONTENT[:100])
    growing._memory._kept.clear()

    send(upload, CONTENT[100:], at=100)

    assert Version.objects.get().digest == DIGEST


def test_bytes_that_a_dead_process_wrote_beyond_what_it_told_are_written_again(begin: Begin, store: Path) -> None:
    upload = begin()
    send(upload, CONTENT[:100])
    with artifacts.incoming(store, upload.key).open("ab") as file:
        file.write(b"written, never told" * 100)
    growing._memory._kept.clear()

    send(upload, CONTENT[100:], at=100)

    assert kept(store, upload) == CONTENT
    assert Version.objects.get().digest == DIGEST


@pytest.mark.parametrize("at", [0, 99, 101])
def test_bytes_from_another_offset_are_refused(begin: Begin, at: int) -> None:
    upload = begin()
    send(upload, CONTENT[:100])

    with pytest.raises(OffsetWrong, match="stands at 100 bytes") as refused:
        send(upload, CONTENT[at:], at=at)

    assert refused.value.facts["offset_bytes"] == 100


def test_more_than_announced_is_refused_unread(begin: Begin) -> None:
    upload = begin()

    with pytest.raises(UploadOverrun):
        services.append_upload(OPERATOR, upload.key, Sending(0, len(CONTENT) + 1, breaking(b"")))

    assert selectors.get_upload(OPERATOR, upload.key).received_bytes == 0


def test_of_two_clients_at_once_the_second_is_refused(begin: Begin, store: Path) -> None:
    upload = begin()

    def another_meanwhile() -> Iterator[bytes]:
        yield CONTENT[:100]
        with pytest.raises(UploadBusy):
            send(upload, b"x" * 50)
        yield CONTENT[100:]

    services.append_upload(OPERATOR, upload.key, Sending(0, len(CONTENT), another_meanwhile()))

    assert Version.objects.get().digest == DIGEST


def test_one_that_was_silent_for_too_long_loses_the_upload_and_spoils_nothing(
    begin: Begin, store: Path, settings: Settings
) -> None:
    settings.CONCH = {**settings.CONCH, "lease_s": 0}
    upload = begin()

    def slow() -> Iterator[bytes]:
        yield CONTENT[:100]
        send(upload, CONTENT[100:], at=100)
        yield b"late" * 10

    with pytest.raises(UploadBusy):
        services.append_upload(OPERATOR, upload.key, Sending(0, len(CONTENT), slow()))

    services.check_version(Version.objects.get().pk, now=timezone.now())
    assert Version.objects.get().digest == DIGEST


def test_bytes_that_do_not_fit_their_checksum_are_dropped(begin: Begin, store: Path) -> None:
    upload = begin()
    send(upload, CONTENT[:100])
    wrong, right = Checksum("sha1", b"\0" * 20), Checksum("sha1", hashlib.sha1(CONTENT[100:]).digest())

    with pytest.raises(ChecksumWrong):
        send(upload, CONTENT[100:], at=100, checksum=wrong)
    after = kept(store, upload)
    send(upload, CONTENT[100:], at=100, checksum=right)

    assert after == CONTENT[:100]
    assert Version.objects.get().digest == DIGEST


def test_with_a_checksum_half_a_request_counts_for_nothing(begin: Begin, store: Path) -> None:
    upload = begin()
    checksum = Checksum("sha256", hashlib.sha256(CONTENT).digest())

    with pytest.raises(UploadBroken):
        services.append_upload(OPERATOR, upload.key, Sending(0, len(CONTENT), breaking(CONTENT[:99]), checksum))

    assert (selectors.get_upload(OPERATOR, upload.key).received_bytes, kept(store, upload)) == (0, b"")


def test_another_file_than_announced_is_refused_and_dropped(begin: Begin, store: Path) -> None:
    upload = begin(sha256="0" * 64)

    with pytest.raises(DigestWrong, match=DIGEST):
        send(upload, CONTENT)

    with pytest.raises(UploadFailed, match=DIGEST):
        send(upload, b"", at=len(CONTENT))
    upload.refresh_from_db()
    assert (upload.state, upload.error["code"]) == ("refused", "digest_wrong")
    assert (files_under(store), Version.objects.count()) == ([], 0)


def test_a_complete_upload_whose_process_died_is_finished_by_the_sweep_once(begin: Begin, store: Path) -> None:
    upload = begin()
    artifacts.incoming(store, upload.key).write_bytes(CONTENT)
    Upload.objects.update(received_bytes=len(CONTENT), lease_until=timezone.now() - timedelta(seconds=1))

    due = services.due_uploads(timezone.now())
    services.finish_upload(upload.key)
    services.finish_upload(upload.key)

    assert due == [upload.key]
    assert (Version.objects.get().digest, services.due_uploads(timezone.now())) == (DIGEST, [])


def test_the_sweep_keeps_what_refuses_a_complete_upload(begin: Begin, store: Path) -> None:
    upload = begin(sha256="0" * 64)
    artifacts.incoming(store, upload.key).write_bytes(CONTENT)
    Upload.objects.update(received_bytes=len(CONTENT))

    services.finish_upload(upload.key)

    upload.refresh_from_db()
    assert (upload.state, upload.error["code"]) == ("refused", "digest_wrong")


def test_sending_again_after_the_last_answer_was_lost_tells_the_version(begin: Begin) -> None:
    upload = begin()
    send(upload, CONTENT)

    again = send(upload, b"", at=len(CONTENT))

    assert again.version == Version.objects.get()
