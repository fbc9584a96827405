"""Versions by reference over the wire and in the console."""

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
PATH = "/api/v1/models/demo/versions"


@pytest.fixture(autouse=True)
def file(tmp_path: Path, settings: LazySettings) -> Path:
    """A file in an allowed folder."""
    fetch = {**settings.CONCH["fetch"], "roots": [str(tmp_path / "in")]}
    settings.CONCH = {**settings.CONCH, "artifacts_dir": tmp_path / "store", "fetch": fetch}
    rows.model("demo")
    file = tmp_path / "in" / "x.zip"
    file.parent.mkdir()
    file.write_bytes(zipped(good()))
    return file


def refer(client: Client, source: Any, key: str = "", **more: Any) -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    return client.post(PATH, {"from": source, **more}, content_type="application/json", headers=headers)


def test_a_reference_begins_a_version_that_tells_its_progress(ci: Client, file: Path) -> None:
    answer = refer(ci, str(file), number=5, git_commit="abc")

    told = answer.json()
    assert (answer.status_code, answer["Location"]) == (202, told["url"])
    assert (told["number"], told["state"], told["source"]) == (5, "fetching", str(file))
    assert told["progress"] == {
        "received_bytes": 0,
        "size_bytes": None,
        "rate_bytes_s": None,
        "estimate": {"left_s": None, "ends_at": None, "why": "nothing has come yet"},
    }


def test_it_is_ready_in_the_end(ci: Client, file: Path) -> None:
    url = refer(ci, str(file)).json()["url"]
    version = Version.objects.get()

    services.fetch_version(version.pk, now=timezone.now())
    received = ci.get(url).json()
    services.check_version(version.pk, now=timezone.now())

    assert (received["state"], received["progress"], received["size_bytes"]) == ("received", None, file.stat().st_size)
    assert ci.get(url).json()["state"] == "ready"


@pytest.mark.parametrize(
    ("source", "more", "status", "code"),
    [
        ("ftp://x", {}, 400, "reference_invalid"),
        ("/etc/passwd", {}, 403, "reference_not_allowed"),
        ("https://evil.example.org/x", {}, 403, "reference_not_allowed"),
        (f"sha256:{'0' * 64}", {}, 404, "artifact_unknown"),
        ("/in/x", {"sha256": "abc"}, 400, "field_invalid"),
        ("/in/x", {"number": 0}, 400, "fields_invalid"),
        ("/in/x", {"form": "typo"}, 400, "fields_invalid"),
        ("", {}, 400, "fields_invalid"),
    ],
)
def test_a_reference_that_cannot_be_is_a_problem(
    source: str, more: dict[str, Any], status: int, code: str, ci: Client
) -> None:
    answer = problem(refer(ci, source, **more), status, code)

    assert answer["errors"][0]["field"]


def test_a_repeated_reference_begins_once(ci: Client, file: Path) -> None:
    first, second = refer(ci, str(file), key="k"), refer(ci, str(file), key="k")

    assert second.json() == first.json()
    assert second["Idempotent-Replayed"] == "true"
    assert Version.objects.count() == 1


def test_who_may_only_look_refers_to_nothing(script: Any, file: Path) -> None:
    problem(refer(script("read"), str(file)), 403, "not_allowed")


def test_known_bytes_need_only_their_digest(ci: Client, file: Path) -> None:
    refer(ci, str(file))
    version = Version.objects.get()
    services.fetch_version(version.pk, now=timezone.now())
    services.check_version(version.pk, now=timezone.now())
    version.refresh_from_db()

    told = refer(ci, f"sha256:{version.digest}").json()

    assert (told["number"], told["state"], told["digest"]) == (2, "received", version.digest)


def test_the_console_does_the_same_and_shows_how_far_it_is(person: Any, file: Path) -> None:
    alice = person()
    alice.get("/models/demo/fetch/")
    token = alice.cookies["csrftoken"].value

    refused = alice.post("/models/demo/fetch/", {"source": "/etc/passwd", "csrfmiddlewaretoken": token})
    answer = alice.post("/models/demo/fetch/", {"source": str(file), "csrfmiddlewaretoken": token})

    page = alice.get(answer["Location"]).content.decode()
    assert refused.status_code == 403
    assert "CONCH_FETCH_ROOTS" in refused.content.decode()
    assert answer["Location"] == "/models/demo/versions/1/"
    assert f'Fetching from <span class="name">{file}</span>: 0 B, time left not known: nothing has come yet.' in page
