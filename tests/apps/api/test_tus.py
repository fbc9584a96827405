"""Resumable uploads over the wire, header by header."""

import base64
import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from apps.registry import services
from apps.registry.models import Version
from tests.apps.api import rows
from tests.apps.api.test_errors import problem
from tests.factories.archives import good, zipped

pytestmark = pytest.mark.django_db
Callers = Callable[..., Client]
PATH = "/api/v1/uploads/"
BYTES = "application/offset+octet-stream"
CONTENT = zipped(good(top="demo/"))
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def store(tmp_path: Path, settings: LazySettings) -> Path:
    """Where versions are kept; a model to send them to."""
    settings.CONCH = {**settings.CONCH, "artifacts_dir": tmp_path / "store"}
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path / "store" / "receiving")
    rows.model("demo")
    return tmp_path / "store"


def metadata(**told: Any) -> str:
    return ",".join(f"{name} {base64.b64encode(str(value).encode()).decode()}" for name, value in told.items())


def begin(client: Client, content: bytes = b"", size: int | str = len(CONTENT), **told: Any) -> Any:
    headers = {"Tus-Resumable": "1.0.0", "Upload-Length": str(size), "Content-Type": BYTES, **told.pop("headers", {})}
    headers["Upload-Metadata"] = metadata(**({"model": "demo", "filename": "demo.zip"} | told))
    return client.generic("POST", PATH, content, content_type=BYTES, headers=headers)


def send(client: Client, where: str, content: bytes, at: int | str = 0, **headers: str) -> Any:
    told = {"Tus-Resumable": "1.0.0", "Upload-Offset": str(at), **headers}
    return client.generic("PATCH", where, content, content_type=BYTES, headers=told)


def head(client: Client, where: str) -> Any:
    return client.head(where, headers={"Tus-Resumable": "1.0.0"})


def test_an_upload_is_begun_sent_in_pieces_and_becomes_a_version(ci: Client) -> None:
    where = begin(ci, number=7, notes="näh", git_commit="abc")["Location"]
    first = send(ci, where, CONTENT[:100])
    between = head(ci, where)
    last = send(ci, where, CONTENT[100:], at=100)

    version = Version.objects.get()
    assert where.startswith(PATH)
    assert (first.status_code, first["Upload-Offset"]) == (204, "100")
    assert (between.status_code, between["Upload-Offset"], between["Upload-Length"]) == (200, "100", str(len(CONTENT)))
    assert between["Cache-Control"] == "no-store"
    assert metadata(model="demo") in between["Upload-Metadata"]
    assert (last.status_code, last["Upload-Offset"], last["Conch-Version"]) == (204, str(len(CONTENT)), "7")
    assert (version.digest, version.notes, version.filename, version.git_commit) == (DIGEST, "näh", "demo.zip", "abc")
    assert ci.get(where).json()["version"]["url"].endswith("/api/v1/models/demo/versions/7")


def test_what_has_come_is_told_in_digests_before_a_file_is_gone_on_with(ci: Client) -> None:
    where = begin(ci, CONTENT[:100])["Location"]

    told = ci.get(f"{where}/blocks").json()
    refused = ci.get(f"{where}/blocks?first=-1")

    digest = hashlib.sha256(CONTENT[:100]).hexdigest()
    assert told == {"block_bytes": 64 << 20, "received_bytes": 100, "first": 0, "sha256": [digest], "next": None}
    assert refused.status_code == 400


def test_the_first_bytes_may_come_with_the_beginning(ci: Client) -> None:
    answer = begin(ci, CONTENT)

    assert (answer.status_code, answer["Upload-Offset"], answer["Conch-Version"]) == (201, str(len(CONTENT)), "1")
    assert answer.json()["state"] == "finished"


def test_every_answer_says_what_is_spoken(ci: Client) -> None:
    options = ci.options(PATH)
    refused = ci.generic("POST", PATH, b"", content_type=BYTES)

    assert options.status_code == 204
    assert options["Tus-Extension"] == "creation,creation-with-upload,termination,expiration,checksum"
    assert int(options["Tus-Max-Size"]) > 0
    assert (refused["Tus-Resumable"], refused["Tus-Version"]) == ("1.0.0", "1.0.0")
    problem(refused, 412, "tus_version_unsupported")


@pytest.mark.parametrize(
    ("told", "status", "code"),
    [
        ({"size": "many"}, 400, "tus_header_invalid"),
        ({"size": ""}, 400, "tus_header_invalid"),
        ({"size": 0}, 400, "upload_empty"),
        ({"size": 10**17}, 413, "upload_too_large"),
        ({"model": ""}, 400, "fields_invalid"),
        ({"model": "nobody"}, 404, "model_unknown"),
        ({"number": "0"}, 400, "fields_invalid"),
        ({"number": "x"}, 400, "fields_invalid"),
        ({"git_commit": "; rm"}, 400, "field_invalid"),
        ({"sha256": "abc"}, 400, "field_invalid"),
        ({"notes": "a\x00b"}, 400, "tus_header_invalid"),
        ({"headers": {"Tus-Resumable": "0.2.2"}}, 412, "tus_version_unsupported"),
        ({"content": CONTENT, "headers": {"Upload-Checksum": "crc32 abcd"}}, 400, "tus_header_invalid"),
        ({"content": CONTENT, "headers": {"Upload-Checksum": "sha1 !"}}, 400, "tus_header_invalid"),
        ({"content": CONTENT, "headers": {"Upload-Checksum": "sha1 AAAA"}}, 400, "tus_header_invalid"),
    ],
)
def test_a_beginning_that_cannot_be_is_refused(told: dict[str, Any], status: int, code: str, ci: Client) -> None:
    problem(begin(ci, **told), status, code)


@pytest.mark.parametrize("told", ["model", "model !", "model /w=="])
def test_metadata_that_cannot_be_read_is_refused(told: str, ci: Client) -> None:
    headers = {"Tus-Resumable": "1.0.0", "Upload-Length": "5", "Upload-Metadata": told}

    answer = ci.generic("POST", PATH, b"", content_type=BYTES, headers=headers)

    assert answer.json()["code"] in {"tus_header_invalid", "fields_invalid"}


def test_a_wrong_offset_is_told_the_right_one(ci: Client) -> None:
    where = begin(ci)["Location"]
    send(ci, where, CONTENT[:10])

    answer = send(ci, where, CONTENT)

    assert problem(answer, 409, "offset_wrong")["facts"]["offset_bytes"] == 10
    problem(send(ci, where, CONTENT, at=""), 400, "tus_header_invalid")


def test_a_wrong_checksum_keeps_nothing_of_its_request(ci: Client) -> None:
    where = begin(ci)["Location"]
    wrong = f"sha1 {base64.b64encode(hashlib.sha1(b'other').digest()).decode()}"

    answer = send(ci, where, CONTENT[:10], **{"Upload-Checksum": wrong})

    problem(answer, 460, "checksum_wrong")
    assert head(ci, where)["Upload-Offset"] == "0"


def test_only_bytes_of_a_file_are_taken(ci: Client) -> None:
    where = begin(ci)["Location"]

    answer = ci.patch(where, "{}", content_type="application/json", headers={"Tus-Resumable": "1.0.0"})

    problem(answer, 415, "media_type_unsupported")


def test_an_upload_is_there_for_whoever_began_it_alone(ci: Client, script: Callers) -> None:
    where = begin(ci)["Location"]
    other = script("deploy", name="other")

    assert head(other, where).status_code == 404
    problem(send(other, where, CONTENT), 404, "upload_unknown")
    assert other.get(PATH).json()["results"] == []
    assert [one["filename"] for one in ci.get(f"{PATH}?model=demo").json()["results"]] == ["demo.zip"]


def test_who_may_only_look_sends_nothing(script: Callers) -> None:
    problem(begin(script("read")), 403, "not_allowed")


def test_an_ended_upload_is_gone(ci: Client) -> None:
    where = begin(ci)["Location"]

    ended = ci.delete(where, headers={"Tus-Resumable": "1.0.0"})

    assert ended.status_code == 204
    assert head(ci, where).status_code == 404


def test_a_post_may_stand_for_methods_that_do_not_get_through(ci: Client) -> None:
    where = begin(ci)["Location"]
    headers = {"Tus-Resumable": "1.0.0", "Upload-Offset": "0", "X-HTTP-Method-Override": "PATCH"}

    answer = ci.generic("POST", where, CONTENT, content_type=BYTES, headers=headers)

    assert (answer.status_code, answer["Conch-Version"]) == (204, "1")


def test_a_person_sends_with_their_session_and_only_from_our_pages(person: Callers) -> None:
    alice = person()

    problem(begin(alice), 403, "csrf_failed")
    alice.get("/models/demo/upload/")
    token = alice.cookies["csrftoken"].value
    where = begin(alice, headers={"X-CSRFToken": token})["Location"]
    answer = send(alice, where, CONTENT, **{"X-CSRFToken": token})

    assert answer["Conch-Version"] == "1"
    assert Version.objects.get().created_by == "alice"


def test_known_bytes_are_found_by_their_digest_and_not_sent_again(ci: Client, script: Callers) -> None:
    unknown = ci.get(f"/api/v1/artifacts/{DIGEST}")
    begin(ci, CONTENT)
    services.check_version(Version.objects.get().pk, now=timezone.now())

    known = script("read", name="eyes").get(f"/api/v1/artifacts/{DIGEST}").json()
    answer = begin(ci, sha256=DIGEST)

    problem(unknown, 404, "artifact_unknown")
    assert (known["size_bytes"], [one["number"] for one in known["versions"]]) == (len(CONTENT), [1])
    assert (answer["Upload-Offset"], answer["Conch-Version"]) == (str(len(CONTENT)), "2")


def test_a_client_that_cannot_skip_its_bytes_may_send_known_ones_again(ci: Client) -> None:
    begin(ci, CONTENT)
    services.check_version(Version.objects.get().pk, now=timezone.now())

    headers = {"Tus-Resumable": "1.0.0", "Upload-Length": str(len(CONTENT))}
    told = metadata(model="demo", sha256=DIGEST)
    where = ci.generic("POST", PATH, b"", headers=headers | {"Upload-Metadata": told})["Location"]

    assert head(ci, where)["Upload-Offset"] == "0"
    assert send(ci, where, CONTENT)["Conch-Version"] == "2"


def test_operators_have_a_limit_of_their_own_in_a_form_too(ci: Client, root: Client, settings: LazySettings) -> None:
    settings.CONCH = {**settings.CONCH, "operator_max_upload_bytes": 10}
    file = io.BytesIO(CONTENT)
    file.name = "demo.zip"

    refused = ci.post("/api/v1/models/demo/versions", {"file": file})
    file.seek(0)
    taken = root.post("/api/v1/models/demo/versions", {"file": file})

    problem(refused, 413, "upload_too_large")
    assert taken.status_code == 202
