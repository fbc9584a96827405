"""Saying which of several versions is meant: beforehand through every door, or afterwards over REST or on the page."""

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
from tests.apps.api.test_tus import begin, send
from tests.factories.archives import MODEL_PY, good, zipped

Callers = Callable[..., Client]
pytestmark = pytest.mark.django_db
PATH = "/api/v1/models/demo/versions"
CHOOSE = f"{PATH}/1/choose"
CONTENT = zipped([*good(), ("demo/7/model.py", MODEL_PY)])


@pytest.fixture(autouse=True)
def file(tmp_path: Path, settings: LazySettings) -> Path:
    """The archive in an allowed folder, and a model to bring it to."""
    fetch = {**settings.CONCH["fetch"], "roots": [str(tmp_path / "in")]}
    settings.CONCH = {**settings.CONCH, "artifacts_dir": tmp_path / "store", "fetch": fetch}
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path / "store" / "receiving")
    rows.model("demo")
    file = tmp_path / "in" / "x.zip"
    file.parent.mkdir()
    file.write_bytes(CONTENT)
    return file


def checked() -> Version:
    version = Version.objects.get()
    services.check_version(version.pk, now=timezone.now())
    version.refresh_from_db()
    return version


def upload(client: Client) -> Version:
    file = io.BytesIO(CONTENT)
    file.name = "demo.zip"
    client.post(PATH, {"file": file})
    return checked()


def choose(client: Client, directory: Any, **headers: str) -> Any:
    return client.post(CHOOSE, {"version_directory": directory}, content_type="application/json", headers=headers)


def test_a_poll_tells_the_state_the_choices_and_the_way_on(ci: Client) -> None:
    upload(ci)

    told = ci.get(f"{PATH}/1").json()

    assert (told["state"], told["choices"], told["choose_until"] > told["created_at"]) == ("choosing", ["1", "7"], True)
    assert "POST version_directory to its address with /choose" in told["error"]["hint"]
    assert [one["number"] for one in ci.get(f"{PATH}?state=choosing").json()["results"]] == [1]


def test_one_is_chosen_once_however_often_the_request_is_sent(ci: Client) -> None:
    upload(ci)

    first, again = (choose(ci, "7", **{"Idempotency-Key": "k"}) for _ in range(2))

    assert (first.status_code, first.json()["state"], first["Location"]) == (
        202,
        "received",
        f"http://testserver{PATH}/1",
    )
    assert again.json() == first.json()
    assert checked().state == "ready"
    problem(choose(ci, "7"), 409, "nothing_to_choose")


def test_what_cannot_be_chosen_is_refused_with_what_can(ci: Client, script: Callers) -> None:
    upload(ci)

    refusal = problem(choose(ci, "8"), 400, "field_invalid")

    assert "1, 7" in refusal["hint"]
    problem(choose(script("read", name="reader"), "7"), 403, "not_allowed")
    problem(choose(ci, ""), 400, "fields_invalid")


def test_it_may_be_said_beforehand_with_a_resumable_upload(ci: Client) -> None:
    begin(ci, CONTENT, size=len(CONTENT), version_directory="7")

    assert (checked().state, Version.objects.get().version_directory) == ("ready", "7")


def test_it_may_be_said_beforehand_by_reference(ci: Client, file: Path) -> None:
    ci.post(PATH, {"from": str(file), "version_directory": "7"}, content_type="application/json")
    services.fetch_version(Version.objects.get().pk, now=timezone.now())

    assert (checked().state, Version.objects.get().version_directory) == ("ready", "7")


def test_a_directory_that_is_none_is_refused_before_a_byte_is_sent(ci: Client) -> None:
    refusal = problem(begin(ci, size=len(CONTENT), version_directory="v7"), 400, "field_invalid")

    assert "version_directory 'v7' is no version's number" in refusal["detail"]
    assert not Version.objects.exists()


def test_known_bytes_have_no_directory_to_name(ci: Client) -> None:
    sent = {"from": f"sha256:{'0' * 64}", "version_directory": "7"}

    problem(ci.post(PATH, sent, content_type="application/json"), 400, "field_invalid")


def test_the_page_asks_and_one_is_chosen_without_a_script(ci: Client, person: Callers) -> None:
    upload(ci)
    alice = person()
    where = "/models/demo/versions/1/"

    page, form = (alice.get(one).content.decode() for one in (where, f"{where}choose/"))
    sent = {"csrfmiddlewaretoken": alice.cookies["csrftoken"].value}
    refused = alice.post(f"{where}choose/", sent | {"version_directory": "9"})
    answer = alice.post(f"{where}choose/", sent | {"version_directory": "7"})
    after = alice.get(where).content.decode()

    assert ("The archive holds 2 versions." in page, f"{where}choose/" in page) == (True, True)
    assert ('value="7"' in form, 'type="radio"' in form) == (True, True)
    assert (refused.status_code, answer["Location"]) == (400, where)
    assert ("The archive holds" in after, Version.objects.get().version_directory) == (False, "7")


def test_the_page_for_choosing_says_when_there_is_nothing_to_choose(ci: Client, person: Callers) -> None:
    version = upload(ci)
    services.forget_unchosen(version.choose_until or timezone.now())
    alice = person()

    page = alice.get("/models/demo/versions/1/choose/")

    assert page.status_code == 409
    assert "there is nothing to choose" in page.content.decode()


def test_a_version_that_waits_is_discarded_over_rest_and_its_number_is_free(ci: Client) -> None:
    upload(ci)

    answer, again = (
        ci.post(f"{PATH}/1/discard", {"reason": "another archive"}, content_type="application/json") for _ in range(2)
    )

    assert (answer.status_code, answer.json()["state"], answer.json()["error"]["code"]) == (
        200,
        "rejected",
        "version_discarded",
    )
    problem(again, 409, "nothing_to_discard")


def test_an_upload_whose_number_was_taken_meanwhile_is_numbered_over_rest(ci: Client) -> None:
    begun = begin(ci, size=len(CONTENT), number="1", version_directory="7")
    upload(ci)
    sent = send(ci, begun["Location"], CONTENT)

    refusal = problem(sent, 409, "number_taken_meanwhile")
    waiting = ci.get(begun["Location"]).json()
    answer = ci.post(f"{begun['Location']}/number", {"number": None}, content_type="application/json")

    assert (waiting["state"], waiting["id"]) == ("numbering", refusal["facts"]["upload"])
    assert (answer.status_code, answer.json()["number"]) == (202, 2)
    problem(
        ci.post(f"{begun['Location']}/number", {"number": 9}, content_type="application/json"), 409, "nothing_to_number"
    )
