"""A version's way in: received, checked, ready or rejected."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.audit.models import Event
from apps.common.actor import COMMAND, Actor
from apps.common.errors import NotAllowed
from apps.registry import selectors, services
from apps.registry.errors import (
    FieldInvalid,
    ModelUnknown,
    NumberInvalid,
    UploadTooLarge,
    VersionNumberTaken,
    VersionUnknown,
)
from apps.registry.models import Artifact, Version
from tests.apps.registry.conftest import files_under
from tests.factories.archives import CONFIG, good, tarred, upload, zipped

VIEWER = Actor(kind="token", name="reader", door="api", scopes=frozenset({"read"}))
Receive = Callable[..., Version]


def test_a_good_upload_becomes_ready_with_its_configuration_and_signature(arrive: Receive, store: Path) -> None:
    version = arrive(zipped(good()), git_commit="abc123", notes="first")

    artifact = version.artifact
    assert artifact is not None
    assert (version.state, version.number, version.backend, version.config_text) == ("ready", 1, "python", CONFIG)
    assert version.signature == {
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [4], "is_optional": False}],
        "outputs": [{"name": "y", "datatype": "FP32", "shape": [4], "is_optional": False}],
        "max_batch_size": 8,
    }
    assert version.config["max_batch_size"] == 8
    assert files_under(selectors.artifact_directory(artifact)) == ["config.pbtxt", "version/model.py"]
    assert [line["path"] for line in artifact.files] == ["config.pbtxt", "version/model.py"]


def test_only_the_sealed_artifact_stays_in_the_store(arrive: Receive, store: Path) -> None:
    version = arrive(zipped(good()))

    assert files_under(store) == [
        f"{version.digest[:2]}/{version.digest}/{name}" for name in ("config.pbtxt", "version/model.py")
    ]


def test_a_bad_upload_is_rejected_with_its_reason_and_leaves_nothing(arrive: Receive, store: Path) -> None:
    version = arrive(zipped([*good(), ("demo/1/../../evil", "x")]))

    assert (version.state, version.error["code"]) == ("rejected", "path_leaves_archive")
    assert (version.error["facts"]["entry"], version.error["hint"] != "") == ("demo/1/../../evil", True)
    assert files_under(store) == []
    assert list((store / "staging").iterdir()) == []


def test_the_same_bytes_twice_are_two_versions_of_one_artifact(arrive: Receive) -> None:
    first, second = arrive(zipped(good())), arrive(zipped(good()))

    assert (first.artifact, [first.number, second.number]) == (second.artifact, [1, 2])
    assert Artifact.objects.count() == 1


def test_a_rejected_number_is_not_given_again_by_itself_but_may_be_asked_for(arrive: Receive) -> None:
    bad = arrive(b"PK\x03\x04 broken")

    following, again = arrive(zipped(good())), arrive(tarred(good()), number=1)

    assert (bad.state, following.number, again.number, again.state) == ("rejected", 2, 1, "ready")
    assert selectors.get_version("demo", 1) == again


def test_a_taken_number_is_refused_and_nothing_is_kept(receive: Receive, store: Path) -> None:
    receive(zipped(good()), number=5)
    before = files_under(store)

    with pytest.raises(VersionNumberTaken, match="'demo' has a version 5"):
        receive(zipped(good()), number=5)

    assert files_under(store) == before


@pytest.mark.parametrize("number", [0, -1, 2**63, True])
def test_a_number_no_server_can_load_is_refused(number: int, receive: Receive) -> None:
    with pytest.raises(NumberInvalid):
        receive(zipped(good()), number=number)


def test_there_is_no_next_number_after_the_highest(receive: Receive, store: Path) -> None:
    receive(zipped(good()), number=2**63 - 1)
    before = files_under(store)

    with pytest.raises(NumberInvalid):
        receive(zipped(good()))

    assert files_under(store) == before


def test_an_upload_over_the_limit_is_refused(receive: Receive, settings: Settings, store: Path) -> None:
    settings.CONCH = {**settings.CONCH, "max_upload_bytes": 100}

    with pytest.raises(UploadTooLarge, match="100 bytes"):
        receive(zipped(good()))

    assert (files_under(store), Version.objects.count()) == ([], 0)


def test_who_may_only_look_adds_nothing(registered: str, store: Path) -> None:
    with pytest.raises(NotAllowed):
        services.add_version(VIEWER, model="demo", upload=upload(zipped(good())))

    assert files_under(store) == []


def test_an_unknown_model_receives_nothing(db: None, store: Path) -> None:
    with pytest.raises(ModelUnknown):
        services.add_version(COMMAND, model="nobody", upload=upload(zipped(good())))

    assert files_under(store) == []


@pytest.mark.parametrize("asked", [{"git_commit": "; rm"}, {"git_commit": "a" * 65}, {"notes": "n" * 10_001}])
def test_texts_that_cannot_be_kept_are_refused(asked: dict[str, str], receive: Receive) -> None:
    with pytest.raises(FieldInvalid):
        receive(zipped(good()), **asked)


def test_the_check_is_done_once_however_often_it_is_delivered(arrive: Receive) -> None:
    version = arrive(zipped(good()))

    services.check_version(version.pk, now=timezone.now())

    assert Event.objects.filter(verb="version_ready").count() == 1


def test_a_check_that_another_worker_holds_is_left_to_it(receive: Receive) -> None:
    version = receive(zipped(good()))
    Version.objects.filter(pk=version.pk).update(state="checking", lease_until=timezone.now() + timedelta(seconds=9))

    services.check_version(version.pk, now=timezone.now())

    version.refresh_from_db()
    assert version.state == "checking"


def test_a_check_whose_worker_died_is_due_again_and_ends(receive: Receive) -> None:
    version = receive(zipped(good()))
    now = timezone.now()
    Version.objects.filter(pk=version.pk).update(state="checking", lease_until=now - timedelta(seconds=1))

    due = services.due_versions(now)
    services.check_version(version.pk, now=now)

    version.refresh_from_db()
    assert (due, version.state, services.due_versions(now)) == ([version.pk], "ready", [])


def test_a_check_that_breaks_its_worker_every_time_is_stopped(receive: Receive, settings: Settings) -> None:
    version = receive(zipped(good()))
    settings.CONCH = {**settings.CONCH, "max_entries": None}
    now = timezone.now()
    for attempt in range(5):
        with pytest.raises(TypeError):
            services.check_version(version.pk, now=now + timedelta(hours=attempt))

    services.check_version(version.pk, now=now + timedelta(hours=5))

    version.refresh_from_db()
    assert (version.state, version.error["code"]) == ("rejected", "check_kept_dying")
    assert services.due_versions(now + timedelta(days=1)) == []


def test_a_store_that_fails_during_the_check_loses_nothing(receive: Receive, store: Path) -> None:
    version = receive(zipped(good()))
    (store / "staging").write_text("in the way")
    now = timezone.now()

    for attempt in range(7):
        services.check_version(version.pk, now=now + timedelta(hours=attempt))

    version.refresh_from_db()
    assert (version.state, version.error["code"]) == ("checking", "store_broken")
    assert services.due_versions(timezone.now()) == []
    (store / "staging").unlink()
    services.check_version(version.pk, now=now + timedelta(hours=7))
    version.refresh_from_db()
    assert (version.state, version.error) == ("ready", {})


def test_the_same_request_sent_again_gets_the_version_it_made(receive: Receive, store: Path) -> None:
    first = receive(zipped(good()), request_key="k" * 64)
    before = files_under(store)

    second = receive(zipped(good()), request_key="k" * 64)
    other = receive(zipped(good()), request_key="l" * 64)

    assert (second.pk, other.number) == (first.pk, 2)
    assert len(files_under(store)) == len(before) + 1


def test_a_received_file_that_is_gone_is_said(receive: Receive, store: Path) -> None:
    version = receive(zipped(good()))
    (store / "incoming" / version.incoming).unlink()

    services.check_version(version.pk, now=timezone.now())

    version.refresh_from_db()
    assert (version.state, version.error["code"]) == ("rejected", "upload_lost")


def test_every_step_is_in_the_audit(arrive: Receive) -> None:
    arrive(zipped(good()))
    arrive(b"nothing")

    told = list(Event.objects.filter(subject_kind="version").order_by("pk").values_list("verb", "subject"))
    assert told == [
        ("add_version", "demo version 1"),
        ("version_ready", "demo version 1"),
        ("add_version", "demo version 2"),
        ("version_rejected", "demo version 2"),
    ]


def test_an_unknown_number_is_said(registered: str) -> None:
    with pytest.raises(VersionUnknown, match="'demo' has no version 3"):
        selectors.get_version("demo", 3)
