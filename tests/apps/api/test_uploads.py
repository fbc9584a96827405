"""Versions on their way in."""

import http.client
import io
import os
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import LazySettings
from django.http import HttpRequest
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from apps.access import services
from apps.common.actor import COMMAND
from apps.registry import artifacts
from apps.registry.arriving import ReceivingHandler
from apps.registry.errors import IncomingFull
from apps.registry.models import Version
from tests.apps.api import rows

pytestmark = pytest.mark.django_db
Callers = Callable[..., Client]
PATH = "/api/v1/models/digits/versions"


@pytest.fixture(autouse=True)
def store(tmp_path: Path, settings: LazySettings) -> Path:
    """Where versions are kept."""
    settings.CONCH = {**settings.CONCH, "artifacts_dir": tmp_path / "store", "max_upload_bytes": 2_000}
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path)
    return tmp_path / "store"


def files_under(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def upload(client: Client, content: bytes = b"bytes", **fields: Any) -> Any:
    file = io.BytesIO(content)
    file.name = "digits.zip"
    return client.post(PATH, {"file": file, **fields})


def test_an_upload_becomes_a_version_that_is_received(ci: Client) -> None:
    rows.model()

    answer = upload(ci, git_commit="abc123", notes="first")

    told = answer.json()
    assert answer.status_code == 202
    assert (told["number"], told["state"], told["git_commit"], told["filename"]) == (
        1,
        "received",
        "abc123",
        "digits.zip",
    )
    assert answer["Location"] == told["url"]
    assert ci.get(told["url"]).json()["digest"] == told["digest"]


def test_the_number_asked_for_is_taken_once(ci: Client) -> None:
    rows.model()

    first, second = upload(ci, number=7), upload(ci, number=7)

    assert first.json()["number"] == 7
    assert (second.status_code, second.json()["code"]) == (409, "version_number_taken")


def test_an_empty_number_means_the_next_one(ci: Client) -> None:
    rows.version(4)

    assert upload(ci, number="").json()["number"] == 5


def test_nothing_is_received_over_the_limit_even_when_the_whole_body_fits(ci: Client, tmp_path: Path) -> None:
    rows.model()

    answer = upload(ci, b"x" * 2_001)

    assert (answer.status_code, answer.json()["code"]) == (413, "upload_too_large")
    assert files_under(tmp_path) == []


def test_a_form_is_refused_unread_where_too_much_is_on_its_way_in(
    ci: Client, tmp_path: Path, settings: LazySettings
) -> None:
    rows.model()
    settings.CONCH = {**settings.CONCH, "max_incoming_bytes": 300}

    answer, few = upload(ci, b"x" * 301), upload(ci, b"x")

    assert (answer.status_code, answer.json()["code"], answer.json()["retryable"]) == (503, "incoming_full", True)
    assert few.status_code == 202


def test_a_form_counts_from_its_first_byte_with_all_that_it_was_announced_with(
    store: Path, settings: LazySettings
) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = str(store / "receiving")
    handler = ReceivingHandler(HttpRequest(), limit_bytes=2_000)
    handler.handle_raw_input(None, {}, 1_000, b"")

    handler.new_file("file", "x.zip", "application/zip", None)
    handler.receive_data_chunk(b"some", 0)
    coming = artifacts.receiving(store).announced_bytes
    file = handler.file_complete(4)

    assert file is not None
    assert (coming, artifacts.receiving(store).announced_bytes, file.read()) == (1_000, 4, b"some")


def test_a_form_whose_process_was_killed_soon_counts_no_longer(store: Path, settings: LazySettings) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = str(store / "receiving")
    form = ReceivingHandler(HttpRequest(), limit_bytes=2_000)
    form.handle_raw_input(None, {}, 1_000, b"")
    form.new_file("file", "x.zip", "application/zip", None)
    (left,) = (store / "receiving").iterdir()

    os.utime(left, (time.time() - 301,) * 2)

    assert artifacts.receiving(store) == artifacts.Receiving()


def test_of_two_forms_that_were_let_in_at_once_the_second_stops_at_its_first_byte(
    store: Path, settings: LazySettings
) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = str(store / "receiving")
    settings.CONCH = {**settings.CONCH, "max_incoming_bytes": 1_500}
    forms = [ReceivingHandler(HttpRequest(), limit_bytes=2_000) for _ in range(2)]
    for form in forms:
        form.handle_raw_input(None, {}, 1_000, b"")

    forms[0].new_file("file", "x.zip", "application/zip", None)
    with pytest.raises(IncomingFull, match="more than 1,500 bytes are too much: 2,000 are on their way"):
        forms[1].new_file("file", "x.zip", "application/zip", None)

    assert artifacts.receiving(store).announced_bytes == 1_000
    assert artifacts.receiving(store).written_bytes == 0


def test_an_upload_announced_too_large_is_refused_before_it_is_read(ci: Client) -> None:
    answer = ci.generic("POST", PATH, b"", content_type="multipart/form-data; boundary=x", CONTENT_LENGTH=str(2**40))

    assert (answer.status_code, answer.json()["code"]) == (413, "upload_too_large")


def test_an_upload_to_no_model_or_by_a_viewer_leaves_nothing(ci: Client, script: Callers, tmp_path: Path) -> None:
    unknown = upload(ci)
    rows.model()
    refused = upload(script("read"))

    assert (unknown.status_code, refused.status_code) == (404, 403)
    assert files_under(tmp_path) == []


def test_an_upload_without_a_file_names_the_field(ci: Client) -> None:
    rows.model()

    assert ci.post(PATH, {"notes": "no file"}).json()["errors"][0]["field"] == "file"


def test_an_upload_is_multipart_or_a_reference(ci: Client) -> None:
    rows.model()

    as_text = ci.post(PATH, "x", content_type="text/plain")
    as_json = ci.post(PATH, {"file": "x"}, content_type="application/json")

    assert as_text.status_code == 415
    assert "from" in {error["field"] for error in ci.post(PATH, {}, content_type="application/json").json()["errors"]}
    assert as_json.json()["code"] == "fields_invalid"


def test_a_long_reference_is_refused_before_it_is_read(ci: Client) -> None:
    answer = ci.generic("POST", PATH, b"", CONTENT_TYPE="application/json", CONTENT_LENGTH=str(2**24))

    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("body", [b"", b"--x\r\nnonsense", b'--x\r\nContent-Disposition: form-data; name="file"'])
def test_a_broken_multipart_body_is_a_problem(body: bytes, ci: Client) -> None:
    rows.model()

    answer = ci.generic("POST", PATH, body, content_type="multipart/form-data; boundary=x")

    assert answer.status_code == 400


def test_a_file_name_cannot_lead_anywhere(ci: Client, store: Path) -> None:
    rows.model()
    file = io.BytesIO(b"bytes")
    file.name = "../../../etc/passwd"

    ci.post(PATH, {"file": file})

    assert Version.objects.get().filename == "passwd"
    assert all(store in path.parents for path in files_under(store))


def body(size_bytes: int) -> Iterator[bytes]:
    yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.zip"\r\n\r\n'
    for _ in range(size_bytes // 2**16):
        yield b"\0" * 2**16
    yield b"\r\n--x--\r\n"


@pytest.mark.django_db(transaction=True)
def test_memory_does_not_grow_with_the_upload(live_server: LiveServer, settings: LazySettings) -> None:
    settings.CONCH = {**settings.CONCH, "max_upload_bytes": 2**30}
    _, secret = services.issue_token(COMMAND, name="ci", scopes=["deploy"], expires_at=None)
    rows.model()
    size = 48 * 2**20
    length = size + sum(len(part) for part in body(0))
    connection = http.client.HTTPConnection(urlsplit(live_server.url).netloc, timeout=60)
    headers = {
        "Authorization": f"Bearer {secret}",
        "Content-Type": "multipart/form-data; boundary=x",
        "Content-Length": str(length),
        "Idempotency-Key": "k",
    }

    tracemalloc.start()
    connection.request("POST", PATH, body(size), headers)
    answer = connection.getresponse()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    connection.close()

    assert answer.status == 202
    assert Version.objects.get().size_bytes == size
    assert peak < size / 3
