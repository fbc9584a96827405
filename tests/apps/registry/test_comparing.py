"""What has come of an upload, block by block: a file is gone on with only where it is the same one."""

import hashlib

import pytest
from django.utils import timezone

from apps.registry import artifacts, growing, selectors, services
from apps.registry.errors import NothingToCompare, UploadUnknown
from apps.registry.models import Upload
from tests.apps.registry.sending import CONTENT, OPERATOR, OTHER, Begin, send


def test_blocks_cover_what_has_come_and_not_a_byte_of_what_lies_beyond(begin: Begin) -> None:
    upload = begin()
    send(upload, CONTENT[:250])
    path = artifacts.incoming(selectors.store(), upload.key)
    with path.open("ab") as file:
        file.write(b"of a writer that died")

    found = [growing.block_digests(path, size_bytes=250, block_bytes=100, first=first, most=2) for first in (0, 2, 3)]

    expected = [hashlib.sha256(CONTENT[start : min(start + 100, 250)]).hexdigest() for start in (0, 100, 200)]
    assert found == [expected[:2], expected[2:], []]


def test_its_owner_is_told_what_came_and_nobody_else(begin: Begin) -> None:
    upload = begin()
    send(upload, CONTENT[:250])

    found = services.received_blocks(OPERATOR, upload.key)

    assert found.sha256 == (hashlib.sha256(CONTENT[:250]).hexdigest(),)
    assert (found.received_bytes, found.first, found.next) == (250, 0, None)
    with pytest.raises(UploadUnknown):
        services.received_blocks(OTHER, upload.key)


def test_more_blocks_than_one_answer_holds_are_asked_for_again() -> None:
    some = services.Blocks(100, 250, 0, ("a", "b"))

    assert (some.next, services.Blocks(100, 250, 2, ("c",)).next, services.Blocks(100, 200, 0, ("a", "b")).next) == (
        2,
        None,
        None,
    )


def test_bytes_that_are_a_version_s_already_are_not_compared(begin: Begin) -> None:
    upload = begin()
    send(upload, CONTENT)
    services.check_version(Upload.objects.get().version_id or 0, now=timezone.now())

    with pytest.raises(NothingToCompare, match="is finished"):
        services.received_blocks(OPERATOR, upload.key)
