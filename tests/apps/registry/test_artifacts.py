"""The store: streamed, addressed by content, and nothing left behind."""

import hashlib
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.registry import artifacts
from apps.registry.artifacts import Landed, Upload
from apps.registry.errors import StoreBroken, StoreFull, UploadBroken, UploadEmpty, UploadTooLarge
from tests.apps.registry.conftest import files_under

PLENTY = 1 << 50


def test_received_bytes_are_kept_whole_under_their_digest(tmp_path: Path) -> None:
    content = os.urandom(300_000)

    received = artifacts.receive(
        tmp_path, Upload("m.zip", [content[:7], content[7:]], len(content)), limit_bytes=PLENTY
    )

    assert artifacts.incoming(tmp_path, received.name).read_bytes() == content
    assert (received.digest, received.size_bytes) == (hashlib.sha256(content).hexdigest(), len(content))


def test_a_file_that_has_landed_is_neither_copied_nor_read(tmp_path: Path) -> None:
    landed = tmp_path / "landed"
    landed.write_bytes(b"bytes")

    received = artifacts.receive(tmp_path, Upload("m.zip", [], 5, Landed(landed, "its digest")), limit_bytes=PLENTY)

    kept = artifacts.incoming(tmp_path, received.name)
    assert (received.digest, received.size_bytes, kept.read_bytes()) == ("its digest", 5, b"bytes")
    assert kept.samefile(landed)


def test_memory_does_not_grow_with_the_upload(tmp_path: Path) -> None:
    chunk = bytes(1 << 20)
    tracemalloc.start()

    artifacts.receive(tmp_path, Upload("m.zip", (chunk for _ in range(128))), limit_bytes=PLENTY)

    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 8 << 20


def breaking() -> Iterator[bytes]:
    yield b"a piece"
    raise ConnectionResetError("gone")


@pytest.mark.parametrize(
    ("upload", "error"),
    [
        (Upload("m", [b"12345", b"67890", b"1"]), UploadTooLarge),
        (Upload("m", [], 11), UploadTooLarge),
        (Upload("m", [b"123"], 5), UploadBroken),
        (Upload("m", breaking()), UploadBroken),
        (Upload("m", [], 0), UploadEmpty),
    ],
)
def test_a_refused_upload_leaves_nothing(upload: Upload, error: type[Exception], tmp_path: Path) -> None:
    with pytest.raises(error):
        artifacts.receive(tmp_path, upload, limit_bytes=10)

    assert files_under(tmp_path) == []


def test_an_upload_larger_than_the_disk_is_refused_before_its_first_byte(tmp_path: Path) -> None:
    unread = iter([b"first"])

    with pytest.raises(StoreFull, match="1,125,899,906,842,623 bytes are needed"):
        artifacts.receive(tmp_path, Upload("m.zip", unread, PLENTY - 1), limit_bytes=PLENTY)

    assert (next(unread), files_under(tmp_path)) == (b"first", [])


def test_a_store_that_is_a_file_is_a_named_error(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("not a directory")

    with pytest.raises(StoreBroken, match="Not a directory"):
        artifacts.receive(tmp_path / "store", Upload("m.zip", [b"x"]), limit_bytes=PLENTY)


def test_sealing_the_same_bytes_twice_keeps_the_first(tmp_path: Path) -> None:
    target = tmp_path / "ab" / "abcd"

    for content in ("first", "second"):
        with artifacts.staging(tmp_path) as staging:
            (staging / "sealed").mkdir()
            (staging / "sealed" / "file").write_text(content)
            artifacts.seal(staging / "sealed", target)

    assert (target / "file").read_text() == "first"
    assert files_under(tmp_path) == ["ab/abcd/file"]


def test_sealed_files_cannot_be_written(tmp_path: Path) -> None:
    with artifacts.staging(tmp_path) as staging:
        (staging / "file").write_text("x")
        artifacts.seal(staging, tmp_path / "ab" / "abcd")

    assert (tmp_path / "ab" / "abcd" / "file").stat().st_mode & 0o222 == 0


def test_the_sweep_takes_old_leftovers_and_nothing_else(tmp_path: Path) -> None:
    for name in ("waiting", "old", "young"):
        (tmp_path / artifacts.INCOMING).mkdir(exist_ok=True)
        (tmp_path / artifacts.INCOMING / name).write_text("x")
        (tmp_path / artifacts.STAGING / name).mkdir(parents=True)
    for name in ("waiting", "old"):
        os.utime(tmp_path / artifacts.INCOMING / name, (0, 0))
    os.utime(tmp_path / artifacts.STAGING / "old", (0, 0))
    (tmp_path / artifacts.RECEIVING).mkdir()
    (tmp_path / artifacts.RECEIVING / "cut-off.upload").write_text("x")
    os.utime(tmp_path / artifacts.RECEIVING / "cut-off.upload", (0, 0))

    artifacts.sweep(tmp_path, keep_incoming={"waiting"})

    assert files_under(tmp_path) == ["incoming/waiting", "incoming/young"]
    assert sorted(os.listdir(tmp_path / artifacts.STAGING)) == ["waiting", "young"]
