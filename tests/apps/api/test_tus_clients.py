"""A real tus client, and a real web server that is killed in the middle."""

import base64
import hashlib
import os
from collections.abc import Iterable, Iterator
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path

import pytest
from django.conf import LazySettings
from pytest_django.live_server_helper import LiveServer
from tusclient.client import TusClient

from apps.access import services as access
from apps.common.actor import COMMAND
from apps.registry import artifacts
from apps.registry.models import Upload, Version
from demo.parts.ports import free_port
from tests.apps.api import rows
from tests.fixtures.processes import start_web

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def token(transactional_db: None) -> dict[str, str]:
    """What a pipeline sends with each request."""
    rows.model("demo")
    _, secret = access.issue_token(COMMAND, name="ci", scopes=["deploy"], expires_at=None)
    return {"Authorization": f"Bearer {secret}"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Some MiB to send."""
    file = tmp_path / "demo.zip"
    file.write_bytes(os.urandom(5 << 20))
    return file


def digest_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_tus_client_sends_stops_and_goes_on(
    live_server: LiveServer, settings: LazySettings, token: dict[str, str], file: Path, tmp_path: Path
) -> None:
    settings.CONCH = {**settings.CONCH, "artifacts_dir": tmp_path / "store"}
    client = TusClient(f"{live_server.url}/api/v1/uploads/", headers=token)
    told = {"model": "demo", "filename": "demo.zip", "sha256": digest_of(file)}
    with file.open("rb") as stream:
        first = client.uploader(file_stream=stream, chunk_size=1 << 20, metadata=told, upload_checksum=True)
        first.upload(stop_at=2 << 20)
    stopped_at = Upload.objects.get().received_bytes
    with file.open("rb") as stream:
        second = client.uploader(file_stream=stream, chunk_size=1 << 20, url=first.url, upload_checksum=True)
        second.upload()

    assert stopped_at == second.get_offset() - (3 << 20) == 2 << 20
    assert Version.objects.get().digest == digest_of(file)


def test_a_web_server_killed_in_the_middle_loses_nothing_that_it_told(
    token: dict[str, str], file: Path, tmp_path: Path
) -> None:
    # A lease of no time: it is renewed, and what came is kept, with every piece.
    variables = {"CONCH_ARTIFACTS_DIR": str(tmp_path / "store"), "CONCH_LEASE_S": "0"}
    port = free_port()
    headers = token | {"Tus-Resumable": "1.0.0", "Content-Type": "application/offset+octet-stream"}
    content = file.read_bytes()
    web = start_web(tmp_path, port=port, **variables)
    address = begin(port, len(content), headers)

    def until_killed() -> Iterator[bytes]:
        half = len(content) // 2
        yield content[:half]
        web.wait_until(lambda: Upload.objects.get().received_bytes > 0)
        web.kill()
        yield content[half:]

    with pytest.raises((OSError, HTTPException)):
        send(port, address, until_killed(), headers | {"Upload-Offset": "0", "Content-Length": str(len(content))})
    again = start_web(tmp_path, port=port, **variables)
    told = Upload.objects.get().received_bytes
    try:
        rest = {"Upload-Offset": str(told), "Content-Length": str(len(content) - told)}
        answer = send(port, address, [content[told:]], headers | rest)
    finally:
        again.kill()

    version = Version.objects.get()
    assert 0 < told < len(content)
    assert (answer.status, answer.headers["Conch-Version"]) == (204, "1")
    assert version.digest == digest_of(file)
    assert artifacts.incoming(tmp_path / "store", version.incoming).read_bytes() == content


def begin(port: int, size: int, headers: dict[str, str]) -> str:
    """The address of a new upload."""
    told = {"Upload-Length": str(size), "Upload-Metadata": f"model {base64.b64encode(b'demo').decode()}"}
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", "/api/v1/uploads/", headers=headers | told)
    address = connection.getresponse().headers["Location"]
    connection.close()
    return address


def send(port: int, address: str, pieces: Iterable[bytes], headers: dict[str, str]) -> HTTPResponse:
    """The answer to one PATCH."""
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("PATCH", address, pieces, headers)
        return connection.getresponse()
    finally:
        connection.close()
