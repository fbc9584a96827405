"""Versions by reference: asked for at once, fetched by a worker, once."""

from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.audit.models import Event
from apps.common.errors import NotAllowed
from apps.registry import selectors, services
from apps.registry.errors import FieldInvalid, ModelUnknown, TooManyUploads, VersionNumberTaken
from apps.registry.models import Fetch, Version
from apps.registry.sources.errors import ReferenceInvalid, ReferenceNotAllowed
from tests.apps.registry.conftest import files_under
from tests.apps.registry.fetches import CONTENT, DIGEST, VIEWER, Ask, fetch


def test_what_was_asked_for_is_fetched_checked_and_ready(ask: Ask, root: Path) -> None:
    asked = ask(f"{root}/x.zip", number=4, notes="from the share", sha256=DIGEST)
    before = (asked.state, asked.number, asked.source)

    fetched = fetch(asked)
    services.check_version(asked.pk, now=timezone.now())

    asked.refresh_from_db()
    assert before == ("fetching", 4, f"{root}/x.zip")
    assert (fetched.digest, fetched.size_bytes, fetched.filename) == (DIGEST, len(CONTENT), "x.zip")
    assert (asked.state, asked.notes, Fetch.objects.count()) == ("ready", "from the share", 0)
    told = Event.objects.filter(subject="demo version 4").order_by("pk").values_list("verb", flat=True)
    assert list(told) == ["add_version", "version_fetched", "version_ready"]


def test_it_is_done_once_however_often_it_is_delivered(ask: Ask, root: Path) -> None:
    version = fetch(ask(f"{root}/x.zip"), times=3)

    assert version.state == "received"
    assert Event.objects.filter(verb="version_fetched").count() == 1


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"source": "http://host/x"}, ReferenceInvalid),
        ({"source": "https://elsewhere/x"}, ReferenceNotAllowed),
        ({"source": "/etc/passwd"}, ReferenceNotAllowed),
        ({"source": "s3://models/x"}, ReferenceNotAllowed),
        ({"source": "models:/digits/3"}, ReferenceNotAllowed),
        ({"sha256": "abc"}, FieldInvalid),
        ({"model": "nobody"}, ModelUnknown),
        ({"actor": VIEWER}, NotAllowed),
    ],
)
def test_what_cannot_be_is_refused_before_anything_begins(
    asked: dict[str, Any], error: type[Exception], ask: Ask, root: Path
) -> None:
    with pytest.raises(error):
        ask(**({"source": f"{root}/x.zip"} | asked))

    assert Version.objects.count() == 0


def test_a_number_is_taken_while_its_bytes_are_fetched(ask: Ask, root: Path) -> None:
    ask(f"{root}/x.zip", number=1)

    with pytest.raises(VersionNumberTaken):
        ask(f"{root}/x.zip", number=1)


def test_one_may_have_only_so_many_fetched_at_once(ask: Ask, root: Path, settings: Settings) -> None:
    settings.CONCH = {**settings.CONCH, "max_unfinished_uploads": 1}
    ask(f"{root}/x.zip")

    with pytest.raises(TooManyUploads):
        ask(f"{root}/x.zip")


def test_the_same_request_sent_again_gets_the_version_it_made(ask: Ask, root: Path) -> None:
    assert ask(f"{root}/x.zip", request_key="k") == ask(f"{root}/x.zip", request_key="k")


def test_known_bytes_are_not_fetched(ask: Ask, root: Path) -> None:
    services.check_version(fetch(ask(f"{root}/x.zip")).pk, now=timezone.now())
    (root / "x.zip").unlink()

    by_digest, by_both = ask(f"sha256:{DIGEST}"), ask(f"{root}/x.zip", sha256=DIGEST)

    assert (by_digest.state, by_both.state, Fetch.objects.count()) == ("received", "received", 0)


@pytest.mark.parametrize(
    ("name", "asked", "code"),
    [
        ("gone.zip", {}, "source_missing"),
        ("x.zip", {"sha256": "0" * 64}, "digest_wrong"),
        ("empty.zip", {}, "upload_empty"),
        ("large.zip", {}, "upload_too_large"),
    ],
)
def test_what_can_never_be_is_rejected_with_its_reason_and_leaves_nothing(
    name: str, asked: dict[str, str], code: str, ask: Ask, root: Path
) -> None:
    version = fetch(ask(f"{root}/{name}", **asked))

    assert (version.state, version.error["code"]) == ("rejected", code)
    assert (files_under(selectors.store()), Fetch.objects.count()) == ([], 0)
    assert Event.objects.filter(verb="version_rejected").count() == 1
