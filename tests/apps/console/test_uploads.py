"""Versions that are sent or fetched by hand: taken, refused, chosen, discarded."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from apps.registry.models import Upload, Version
from tests.factories.fleets import FleetRows


def test_an_upload_without_a_script_leads_to_the_version(
    rows: FleetRows, operator: Client, settings: Settings, tmp_path: Path
) -> None:
    settings.CONCH = settings.CONCH | {"artifacts_dir": tmp_path}
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path / "receiving")
    sent = {"file": SimpleUploadedFile("digits.zip", b"PK not really"), "notes": "by hand"}

    answer = operator.post("/models/digits/upload/", sent)

    version = Version.objects.latest("pk")
    assert answer.headers["Location"] == f"/models/digits/versions/{version.number}/"
    assert (version.state, version.notes) == ("received", "by hand")


def test_an_upload_that_is_too_large_is_refused_before_it_is_read(
    rows: FleetRows, operator: Client, settings: Settings
) -> None:
    settings.CONCH = settings.CONCH | {"max_upload_bytes": 1_000}

    answer = operator.post("/models/digits/upload/", {"file": SimpleUploadedFile("d.zip", b"x" * 2_000_000)})

    assert answer.status_code == 413
    assert "more than 1,000 bytes" in answer.content.decode()


def test_an_upload_by_somebody_who_may_not_is_refused_before_it_is_read(rows: FleetRows, viewer: Client) -> None:
    answer = viewer.post("/models/digits/upload/", {"file": SimpleUploadedFile("d.zip", b"x")})

    assert answer.status_code == 403
    assert not Version.objects.filter(state="received").exists()


def test_an_upload_from_elsewhere_is_not_taken(
    rows: FleetRows, sign_in: Callable[..., Client], settings: Settings, tmp_path: Path
) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path / "receiving")
    client = sign_in("operator", enforce_csrf_checks=True)

    answer = client.post("/models/digits/upload/", {"file": SimpleUploadedFile("d.zip", b"x")})

    assert answer.status_code == 403
    assert not Version.objects.filter(state="received").exists()


def test_an_upload_without_a_file_asks_for_one(rows: FleetRows, operator: Client) -> None:
    answer = operator.post("/models/digits/upload/", {"notes": "kept"})

    assert answer.status_code == 400
    assert "This field is required" in answer.content.decode()
    assert "kept" in answer.content.decode()


def test_unfinished_uploads_are_shown_to_who_began_them_and_can_be_discarded(
    rows: FleetRows, operator: Client, boss: Client, settings: Settings, tmp_path: Path
) -> None:
    settings.CONCH = settings.CONCH | {"artifacts_dir": tmp_path}
    told = {"Tus-Resumable": "1.0.0", "Upload-Length": "9", "Upload-Metadata": "model ZGlnaXRz,filename ZC56aXA="}
    key = operator.post("/api/v1/uploads/", headers=told).json()["id"]
    discard = f"/models/digits/uploads/{key}/discard/"

    theirs, others = operator.get("/models/digits/upload/"), boss.get("/models/digits/upload/")
    refused, done = boss.post(discard), operator.post(discard)

    assert discard in theirs.content.decode()
    assert "Unfinished uploads" not in others.content.decode()
    assert (refused.status_code, done.headers["Location"]) == (404, "/models/digits/upload/")
    assert "Unfinished uploads" not in operator.get("/models/digits/upload/").content.decode()


def test_the_version_that_is_meant_is_chosen_by_hand(rows: FleetRows, operator: Client) -> None:
    where = "/models/digits/versions/2/"
    later = timezone.now() + timedelta(hours=1)
    Version.objects.filter(pk=rows.versions["digits", 2].pk).update(
        state="choosing", choices=["1", "7"], choose_until=later
    )

    question = operator.get(f"{where}choose/").content.decode()
    answer = operator.post(f"{where}choose/", {"version_directory": "7"})

    assert "Which version is digits 2?" in question
    assert (answer.status_code, answer.headers.get("Location")) == (302, where)
    assert Version.objects.get(pk=rows.versions["digits", 2].pk).state == "received"


def test_an_upload_whose_number_was_taken_meanwhile_gets_another_one_by_hand(
    rows: FleetRows, operator: Client, settings: Settings, tmp_path: Path
) -> None:
    settings.CONCH = settings.CONCH | {"artifacts_dir": tmp_path}
    told = {"Tus-Resumable": "1.0.0", "Upload-Length": "9", "Upload-Metadata": "model ZGlnaXRz,filename ZC56aXA="}
    key = operator.post("/api/v1/uploads/", headers=told).json()["id"]
    Upload.objects.update(state="numbering", received_bytes=9, wanted={"number": 2, "filename": "d.zip"})
    where = f"/models/digits/uploads/{key}/number/"

    listed, question = (operator.get(one).content.decode() for one in ("/models/digits/upload/", where))
    taken = operator.post(where, {"number": "2"})
    done = operator.post(where, {"number": "44"})
    again = operator.post(where, {"number": "45"})

    assert ("number 2 was taken meanwhile" in listed, where in listed) == (True, True)
    assert "Which number shall d.zip have?" in question
    assert (taken.status_code, done.headers.get("Location")) == (409, "/models/digits/versions/44/")
    assert again.status_code == 409


def test_a_version_that_waits_for_a_choice_is_discarded_by_hand(rows: FleetRows, operator: Client) -> None:
    where = "/models/digits/versions/2/"
    later = timezone.now() + timedelta(hours=1)
    Version.objects.filter(pk=rows.versions["digits", 2].pk).update(
        state="choosing", choices=["1", "7"], choose_until=later
    )

    page = operator.get(where).content.decode()
    answer = operator.post(f"{where}discard/")

    assert f"{where}discard/" in page
    assert (answer.status_code, answer.headers.get("Location")) == (302, where)
    assert Version.objects.get(pk=rows.versions["digits", 2].pk).state == "rejected"


def test_the_fetch_form_leads_back_to_its_model(rows: FleetRows, operator: Client) -> None:
    page = operator.get("/models/digits/fetch/").content.decode()

    assert '<a class="name" href="/models/digits/">digits</a></p>' in page
