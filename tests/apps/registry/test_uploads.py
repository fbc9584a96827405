"""Resumable uploads: whatever breaks, the bytes that came are kept, and the version is made once."""

import hashlib
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.audit.models import Event
from apps.common.actor import COMMAND, Actor
from apps.common.errors import NotAllowed
from apps.registry import artifacts, growing, selectors, services
from apps.registry.errors import (
    ArtifactUnknown,
    ChecksumWrong,
    DigestWrong,
    FieldInvalid,
    IncomingFull,
    ModelUnknown,
    NumberInvalid,
    OffsetWrong,
    StoreFull,
    TooManyUploads,
    UploadBroken,
    UploadBusy,
    UploadEmpty,
    UploadExpired,
    UploadFailed,
    UploadOverrun,
    UploadTooLarge,
    UploadUnknown,
    VersionNumberTaken,
)
from apps.registry.models import Artifact, Upload, Version
from apps.registry.services import Announced, Checksum, Sending, Wanted
from tests.apps.registry.conftest import files_under
from tests.factories.archives import good, zipped
from tests.fixtures.disks import SMALL_BYTES, small_disk

OPERATOR = Actor(kind="token", name="ci", door="api", token_id=7, scopes=frozenset({"deploy"}))
OTHER = Actor(kind="token", name="other", door="api", token_id=8, scopes=frozenset({"deploy"}))
VIEWER = Actor(kind="token", name="eyes", door="api", token_id=9, scopes=frozenset({"read"}))
CONTENT = zipped(good())
DIGEST = hashlib.sha256(CONTENT).hexdigest()
Begin = Callable[..., Upload]


@pytest.fixture
def begin(store: Path, registered: str) -> Begin:
    """Begins an upload of a good archive."""

    def begin(content: bytes = CONTENT, actor: Actor = OPERATOR, **asked: Any) -> Upload:
        announced = Announced(len(content), asked.pop("sha256", ""), asked.pop("fingerprint", ""))
        may_skip = asked.pop("may_skip_bytes", False)
        model = asked.pop("model", "demo")
        return services.begin_upload(
            actor, model=model, announced=announced, wanted=Wanted(**asked), may_skip_bytes=may_skip
        )

    return begin


def send(upload: Upload, content: bytes, at: int = 0, actor: Actor = OPERATOR, **more: Any) -> Upload:
    pieces = [content[start : start + 100] for start in range(0, len(content), 100)]
    return services.append_upload(actor, upload.key, Sending(at, len(content), pieces, **more))


def kept(store: Path, upload: Upload) -> bytes:
    return artifacts.incoming(store, upload.key).read_bytes()


def breaking(content: bytes) -> Iterator[bytes]:
    yield content
    raise ConnectionResetError("gone")


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


def test_a_number_that_was_taken_meanwhile_is_said(begin: Begin, receive: Callable[..., Version]) -> None:
    upload = begin(number=1)
    receive(zipped(good()), number=1)

    with pytest.raises(VersionNumberTaken):
        send(upload, CONTENT)

    upload.refresh_from_db()
    assert upload.error["code"] == "version_number_taken"


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


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"content": b""}, UploadEmpty),
        ({"sha256": "F" * 64}, FieldInvalid),
        ({"sha256": "abc"}, FieldInvalid),
        ({"fingerprint": "f" * 129}, FieldInvalid),
        ({"git_commit": "; rm"}, FieldInvalid),
        ({"number": 0}, NumberInvalid),
        ({"model": "nobody"}, ModelUnknown),
        ({"actor": VIEWER}, NotAllowed),
    ],
)
def test_what_cannot_be_is_refused_before_a_byte_has_come(
    asked: dict[str, Any], error: type[Exception], begin: Begin, store: Path
) -> None:
    with pytest.raises(error):
        begin(**asked)

    assert (files_under(store), Upload.objects.count()) == ([], 0)


def test_operators_have_a_limit_of_their_own(begin: Begin, settings: Settings) -> None:
    settings.CONCH = {**settings.CONCH, "operator_max_upload_bytes": 10}

    with pytest.raises(UploadTooLarge, match="ci may send 10"):
        begin()

    assert begin(actor=COMMAND).size_bytes == len(CONTENT)


def test_one_sender_may_leave_only_so_many_unfinished(begin: Begin, settings: Settings) -> None:
    settings.CONCH = {**settings.CONCH, "max_unfinished_uploads": 1}
    send(begin(), CONTENT)
    begin()

    with pytest.raises(TooManyUploads):
        begin()

    assert begin(actor=OTHER).state == "receiving"


def test_all_together_may_announce_only_so_much(begin: Begin, settings: Settings) -> None:
    settings.CONCH = {**settings.CONCH, "max_incoming_bytes": len(CONTENT) + 5}
    begin()

    with pytest.raises(IncomingFull):
        begin(actor=OTHER)


def test_an_upload_belongs_to_who_began_it(begin: Begin) -> None:
    upload = begin()

    with pytest.raises(UploadUnknown):
        send(upload, CONTENT, actor=OTHER)
    with pytest.raises(UploadUnknown):
        services.discard_upload(OTHER, upload.key)

    assert list(selectors.uploads(OTHER)) == []
    assert list(selectors.uploads(OPERATOR, model="demo")) == [upload]


def test_an_ended_upload_leaves_nothing_but_its_event(begin: Begin, store: Path) -> None:
    upload = begin()
    send(upload, CONTENT[:100])

    services.discard_upload(OPERATOR, upload.key)

    assert (files_under(store), Upload.objects.count()) == ([], 0)
    assert Event.objects.get(verb="discard_upload").detail["received_bytes"] == 100


def test_ending_a_finished_upload_leaves_its_version_its_bytes(begin: Begin, store: Path) -> None:
    upload = begin()
    send(upload, CONTENT)

    services.discard_upload(OPERATOR, upload.key)

    assert files_under(store) == [f"incoming/{upload.key}"]


def test_an_expired_upload_is_refused_and_swept_and_one_in_use_is_not(begin: Begin, store: Path) -> None:
    expired, in_use, young = begin(), begin(), begin()
    past = timezone.now() - timedelta(seconds=1)
    Upload.objects.exclude(pk=young.pk).update(expires_at=past)
    Upload.objects.filter(pk=in_use.pk).update(lease_until=timezone.now() + timedelta(seconds=9))

    with pytest.raises(UploadExpired):
        send(expired, CONTENT)
    services.sweep_uploads(timezone.now())

    assert set(Upload.objects.values_list("pk", flat=True)) == {in_use.pk, young.pk}
    assert len(files_under(store)) == 2


def test_the_store_s_sweep_leaves_old_unfinished_uploads_alone(begin: Begin, store: Path) -> None:
    upload = begin()
    os.utime(artifacts.incoming(store, upload.key), (0, 0))

    services.sweep_store()

    assert files_under(store) == [f"incoming/{upload.key}"]


def test_a_full_disk_is_said_before_the_first_byte(begin: Begin, tmp_path: Path, settings: Settings) -> None:
    with small_disk(tmp_path / "small") as disk:
        settings.CONCH = {**settings.CONCH, "artifacts_dir": disk}

        with pytest.raises(StoreFull):
            begin(content=bytes(SMALL_BYTES))

        assert (files_under(disk), Upload.objects.count()) == ([], 0)


def test_a_disk_that_fills_up_loses_nothing_that_came(begin: Begin, tmp_path: Path, settings: Settings) -> None:
    content = os.urandom(6 << 20)
    with small_disk(tmp_path / "small") as disk:
        settings.CONCH = {**settings.CONCH, "artifacts_dir": disk}
        good_one = begin()
        send(good_one, CONTENT)
        upload = begin(content=content)
        send(upload, content[: 1 << 20])
        (disk / "others").write_bytes(bytes(SMALL_BYTES - (4 << 20)))

        pieces = [content[start : start + (1 << 16)] for start in range(1 << 20, 6 << 20, 1 << 16)]
        with pytest.raises(StoreFull) as full:
            services.append_upload(OPERATOR, upload.key, Sending(1 << 20, 5 << 20, pieces))

        upload.refresh_from_db()
        assert (full.value.http_status, full.value.retryable) == (507, True)
        assert 1 << 20 < upload.received_bytes < 6 << 20
        assert kept(disk, upload) == content[: upload.received_bytes]
        assert kept(disk, good_one) == CONTENT
        (disk / "others").unlink()
        finished = send(upload, content[upload.received_bytes :], at=upload.received_bytes)
        assert finished.version is not None
        assert finished.version.digest == hashlib.sha256(content).hexdigest()


def test_bytes_that_are_known_need_not_be_sent(begin: Begin, arrive: Callable[..., Version], store: Path) -> None:
    first = arrive(CONTENT)
    before = files_under(store)

    upload = begin(sha256=DIGEST, may_skip_bytes=True, notes="again")

    second = upload.version
    assert second is not None
    services.check_version(second.pk, now=timezone.now())
    second.refresh_from_db()
    assert (upload.received_bytes, second.number, second.state, second.notes) == (len(CONTENT), 2, "ready", "again")
    assert (second.config, second.signature, second.backend) == (first.config, first.signature, first.backend)
    assert "as demo version 1; none were sent" in second.remarks[-1]
    assert (files_under(store), Artifact.objects.count()) == (before, 1)


def test_known_bytes_are_still_checked_against_the_model_they_are_for(arrive: Callable[..., Version]) -> None:
    arrive(CONTENT)
    services.register_model(COMMAND, name="another")

    version = services.add_known_version(OPERATOR, model="another", sha256=DIGEST, wanted=Wanted())
    services.check_version(version.pk, now=timezone.now())

    version.refresh_from_db()
    assert (version.state, version.error["code"]) == ("rejected", "name_mismatch")


def test_bytes_of_another_size_are_not_the_known_ones(begin: Begin, arrive: Callable[..., Version]) -> None:
    arrive(CONTENT)

    upload = begin(content=CONTENT + b"more", sha256=DIGEST, may_skip_bytes=True)

    assert (upload.version, upload.received_bytes) == (None, 0)


def test_bytes_that_were_never_checked_are_not_known(begin: Begin, receive: Callable[..., Version]) -> None:
    receive(CONTENT)

    with pytest.raises(ArtifactUnknown):
        services.add_known_version(OPERATOR, model="demo", sha256=DIGEST, wanted=Wanted())

    assert begin(sha256=DIGEST, may_skip_bytes=True).version is None


def test_who_may_only_look_cannot_make_a_version_of_known_bytes(arrive: Callable[..., Version]) -> None:
    arrive(CONTENT)

    with pytest.raises(NotAllowed):
        services.add_known_version(VIEWER, model="demo", sha256=DIGEST, wanted=Wanted())
