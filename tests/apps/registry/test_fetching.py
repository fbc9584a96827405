"""Versions by reference: asked for at once, fetched by a worker in slices, once, whatever breaks."""

import hashlib
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from apps.audit.models import Event
from apps.common.actor import COMMAND, Actor
from apps.common.errors import NotAllowed
from apps.registry import artifacts, growing, selectors, services
from apps.registry.errors import FieldInvalid, ModelUnknown, TooManyUploads, VersionNumberTaken
from apps.registry.models import Fetch, Version
from apps.registry.services import Wanted
from apps.registry.sources.errors import ReferenceInvalid, ReferenceNotAllowed
from tests.apps.registry.conftest import files_under
from tests.factories.archives import good, zipped
from tests.fixtures.disks import SMALL_BYTES, small_disk
from tests.fixtures.https import Site, https_site, reply

VIEWER = Actor(kind="token", name="eyes", door="api", token_id=9, scopes=frozenset({"read"}))
CONTENT = zipped(good())
DIGEST = hashlib.sha256(CONTENT).hexdigest()
Ask = Callable[..., Version]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with https_site(tmp_path_factory.mktemp("https")) as site:
        yield site


@pytest.fixture
def site(running: Site) -> Site:
    running.answers.clear()
    running.asked.clear()
    return running


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a good archive in it, one without bytes, and one that is too large."""
    root = tmp_path / "in"
    root.mkdir()
    (root / "empty.zip").touch()
    (root / "large.zip").write_bytes(bytes((4 << 20) + 1))
    (root / "x.zip").write_bytes(CONTENT)
    return root


@pytest.fixture
def ask(store: Path, registered: str, root: Path, site: Site, settings: Settings) -> Ask:
    """Asks for the next version of demo."""
    allowed = {
        "roots": [str(root)],
        "hosts": [site.place],
        "networks": ["127.0.0.0/8"],
        "certificates": str(site.certificate),
    }
    fetch = {**settings.CONCH["fetch"], **allowed}
    settings.CONCH = {**settings.CONCH, "fetch": fetch, "max_upload_bytes": 4 << 20}

    def ask(source: str, **asked: Any) -> Version:
        sha256, actor = asked.pop("sha256", ""), asked.pop("actor", COMMAND)
        model = asked.pop("model", "demo")
        return services.add_version_from(actor, model=model, source=source, sha256=sha256, wanted=Wanted(**asked))

    return ask


def fetch(version: Version, times: int = 1, **options: float) -> Version:
    """The version after a worker has worked on it; pauses are over at once."""
    for _ in range(times):
        Fetch.objects.update(due_at=timezone.now() - timedelta(seconds=1))
        services.fetch_version(version.pk, now=timezone.now(), **options)
    version.refresh_from_db()
    return version


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


def test_a_source_that_says_nothing_of_its_size_is_still_limited(ask: Ask, site: Site, settings: Settings) -> None:
    settings.CONCH = {**settings.CONCH, "max_upload_bytes": 4_000}

    def endless(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(b"x" * 5_000)
        handler.close_connection = True

    site.answers["/x"] = endless

    version = fetch(ask(f"https://{site.place}/x"))

    assert (version.state, version.error["code"]) == ("rejected", "upload_too_large")


def test_a_source_that_is_away_is_asked_again_with_pauses_and_the_reason_is_shown(ask: Ask, site: Site) -> None:
    version = ask(site.status("/x", 503))

    fetch(version)
    first = (version.state, version.error["code"])
    pause = Fetch.objects.get().due_at - timezone.now()
    fetch(version, times=3)
    longer = Fetch.objects.get().due_at - timezone.now()
    site.file("/x", CONTENT)
    after = fetch(version)

    assert first == ("fetching", "source_unreachable")
    assert longer > 2 * pause
    assert services.due_fetches(timezone.now()) == []
    assert (after.state, after.digest, after.error) == ("received", DIGEST, {})


def test_after_an_hour_without_a_byte_it_is_given_up(ask: Ask, site: Site) -> None:
    version = ask(site.status("/x", 503))
    Fetch.objects.update(moved_at=timezone.now() - timedelta(hours=2))

    fetch(version)

    assert (version.state, version.error["code"]) == ("rejected", "source_unreachable")


def test_what_came_before_it_broke_off_is_not_fetched_again(ask: Ask, site: Site) -> None:
    def breaking(handler: Any) -> None:
        handler.send_response(200)
        for name, value in {"Content-Length": len(CONTENT), "ETag": '"one"', "Accept-Ranges": "bytes"}.items():
            handler.send_header(name, str(value))
        handler.end_headers()
        handler.wfile.write(CONTENT[:200])
        handler.close_connection = True

    site.answers["/x"] = breaking
    version = fetch(ask(f"https://{site.place}/x"))
    kept = Fetch.objects.get().received_bytes
    growing._memory._kept.clear()
    site.file("/x", CONTENT)

    fetch(version)

    assert kept == 200
    assert site.asked[-1][1]["Range"] == "bytes=200-"
    assert (version.state, version.digest) == ("received", DIGEST)


def test_another_file_by_now_is_fetched_from_its_beginning(ask: Ask, site: Site) -> None:
    version = ask(site.file("/x", CONTENT, tag='"two"'))
    artifacts.make_incoming(selectors.store(), version.incoming, needed_bytes=0)
    artifacts.incoming(selectors.store(), version.incoming).write_bytes(b"y" * 200)
    Fetch.objects.update(received_bytes=200, mark='"one"', size_bytes=300)

    fetch(version)

    assert (version.state, version.digest) == ("received", DIGEST)


def test_a_large_file_is_fetched_in_slices_so_that_others_get_their_turn(ask: Ask, root: Path) -> None:
    content = os.urandom(3 << 20)
    (root / "x.zip").write_bytes(content)
    version = ask(f"{root}/x.zip")

    steps = [
        (fetch(version, slice_s=0).state, Fetch.objects.values_list("received_bytes", flat=True).first())
        for _ in range(3)
    ]

    assert steps == [("fetching", 1 << 20), ("fetching", 2 << 20), ("received", None)]
    assert version.digest == hashlib.sha256(content).hexdigest()


def test_only_so_many_are_fetched_at_once(ask: Ask, root: Path) -> None:
    versions = [ask(f"{root}/x.zip") for _ in range(3)]
    until = timezone.now() + timedelta(seconds=9)
    Fetch.objects.filter(version__in=versions[:2]).update(lease_until=until)

    services.fetch_version(versions[2].pk, now=timezone.now())

    versions[2].refresh_from_db()
    assert versions[2].state == "fetching"
    assert services.due_fetches(timezone.now()) == [versions[2].pk]


def test_one_whose_worker_died_is_due_again(ask: Ask, root: Path) -> None:
    version = ask(f"{root}/x.zip")
    Fetch.objects.update(lease_until=timezone.now() - timedelta(seconds=1))

    due = services.due_fetches(timezone.now())

    assert due == [version.pk]
    assert fetch(version).state == "received"


def test_one_that_breaks_its_worker_every_time_is_stopped(ask: Ask, root: Path, settings: Settings) -> None:
    version = ask(f"{root}/x.zip")
    settings.CONCH = {**settings.CONCH, "artifacts_dir": None}
    for _ in range(5):
        with pytest.raises(TypeError):
            fetch(version)
        Fetch.objects.update(lease_until=None)
    settings.CONCH = {**settings.CONCH, "artifacts_dir": str(root.parent / "store")}

    fetch(version)

    assert (version.state, version.error["code"]) == ("rejected", "fetch_kept_dying")
    assert services.due_fetches(timezone.now() + timedelta(days=1)) == []


@pytest.mark.django_db(transaction=True)
def test_who_lost_the_lease_changes_nothing(ask: Ask, site: Site) -> None:
    def stolen(handler: Any) -> None:
        Fetch.objects.update(lease_until=timezone.now() + timedelta(seconds=99))
        connection.close()
        reply(handler, 200, CONTENT)

    site.answers["/x"] = stolen

    assert fetch(ask(f"https://{site.place}/x")).state == "fetching"


def test_a_full_store_waits_and_loses_nothing(ask: Ask, root: Path, tmp_path: Path, settings: Settings) -> None:
    (root / "x.zip").write_bytes(os.urandom(4 << 20))
    with small_disk(tmp_path / "small") as disk:
        settings.CONCH = {**settings.CONCH, "artifacts_dir": disk}
        (disk / "others").write_bytes(bytes(SMALL_BYTES - (6 << 20)))
        version = fetch(ask(f"{root}/x.zip"))
        waiting = (version.state, version.error["code"])
        (disk / "others").unlink()

        fetch(version)

    assert waiting == ("fetching", "store_full")
    assert version.state == "received"


def test_a_secret_in_the_reference_is_in_no_event_and_goes_with_the_fetch(ask: Ask, site: Site) -> None:
    version = ask(site.status("/x", 403) + "?signature=hunter2")

    fetch(version)

    assert (version.state, Fetch.objects.count()) == ("rejected", 0)
    assert "hunter2" not in f"{version.source} {version.error} {list(Event.objects.values_list('detail', 'reason'))}"
    assert version.source == f"https://{site.place}/x?..."
