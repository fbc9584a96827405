"""Resumable uploads: who may begin one, how much may come in, and what is left of one that ends."""

import hashlib
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.audit.models import Event
from apps.common.actor import COMMAND
from apps.common.errors import NotAllowed
from apps.registry import artifacts, selectors, services
from apps.registry.errors import (
    FieldInvalid,
    IncomingFull,
    ModelUnknown,
    NumberInvalid,
    StoreFull,
    TooManyUploads,
    UploadEmpty,
    UploadExpired,
    UploadTooLarge,
    UploadUnknown,
)
from apps.registry.models import Fetch, Upload, Version
from apps.registry.services import Sending
from tests.apps.registry import fetches
from tests.apps.registry.conftest import files_under
from tests.apps.registry.fetches import Ask
from tests.apps.registry.sending import CONTENT, OPERATOR, OTHER, VIEWER, Begin, kept, send
from tests.fixtures.disks import SMALL_BYTES, small_disk


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

    settings.CONCH = {**settings.CONCH, "max_incoming_bytes": 5}
    with pytest.raises(IncomingFull) as full:
        begin(actor=OTHER)
    assert full.value.facts["room_bytes"] == 0


def test_bytes_that_nobody_has_checked_yet_count_whatever_door_they_came_by(
    begin: Begin, receive: Callable[..., Version], settings: Settings
) -> None:
    settings.CONCH = {**settings.CONCH, "max_incoming_bytes": len(CONTENT) + 5}
    version = receive(CONTENT)

    with pytest.raises(IncomingFull, match=f"{len(CONTENT):,} are on their way in"):
        begin()
    services.check_version(version.pk, now=timezone.now())

    assert begin().state == "receiving"


def test_a_fetch_waits_for_room_as_long_as_it_takes_and_says_so(
    ask: Ask, begin: Begin, root: Path, settings: Settings
) -> None:
    settings.CONCH = {**settings.CONCH, "max_incoming_bytes": len(fetches.CONTENT) + 5}
    upload = begin()
    version = ask(f"{root}/x.zip")
    Fetch.objects.update(moved_at=timezone.now() - timedelta(days=1))

    waiting = fetches.fetch(version, times=2)
    told = (waiting.state, waiting.error["code"], files_under(selectors.store()))
    services.discard_upload(OPERATOR, upload.key)
    fetched = fetches.fetch(version)

    assert told == ("fetching", "incoming_full", [f"incoming/{upload.key}"])
    assert (fetched.state, fetched.error) == ("received", {})


def test_a_fetch_counts_whole_as_soon_as_it_has_begun(ask: Ask, begin: Begin, root: Path, settings: Settings) -> None:
    (root / "weights.zip").write_bytes(bytes(3 << 20))
    begun = ask(f"{root}/weights.zip")
    settings.CONCH = {**settings.CONCH, "max_incoming_bytes": 3 << 20}

    fetches.fetch(begun, slice_s=0)

    assert (begun.state, Fetch.objects.get().received_bytes < 3 << 20) == ("fetching", True)
    with pytest.raises(IncomingFull, match="3,145,728 are on their way in"):
        begin()


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


def test_what_is_promised_to_one_upload_is_promised_to_no_other(
    ask: Ask, begin: Begin, root: Path, tmp_path: Path, settings: Settings
) -> None:
    content = bytes(5 << 20)
    (root / "x.zip").write_bytes(content)
    with small_disk(tmp_path / "small") as disk:
        settings.CONCH = {**settings.CONCH, "artifacts_dir": disk, "max_upload_bytes": 1 << 30}
        first = begin(content=content)
        send(first, content[: 1 << 20])

        with pytest.raises(StoreFull, match=r"5,242,880 bytes are needed and .* free, 4,194,304 of them promised"):
            begin(content=content)
        with pytest.raises(StoreFull):
            services.require_room(len(content))
        fetched = ask(f"{root}/x.zip")
        Fetch.objects.update(moved_at=timezone.now() - timedelta(days=1))
        fetches.fetch(fetched, times=2)
        services.discard_upload(OPERATOR, first.key)
        instead = begin(content=content)

        # Others' room is no fault of the source: it waits for as long as they take.
        assert (fetched.state, fetched.error["code"]) == ("fetching", "store_full")
        assert (instead.state, sum(path.endswith(instead.key) for path in files_under(disk))) == ("receiving", 1)
