"""Fetching in slices under a lease: what breaks is taken up where it was, or given up with its reason."""

import hashlib
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from apps.audit.models import Event
from apps.registry import artifacts, growing, selectors, services
from apps.registry.models import Fetch
from tests.apps.registry.fetches import CONTENT, DIGEST, Ask, fetch
from tests.fixtures.disks import SMALL_BYTES, small_disk
from tests.fixtures.https import Site, reply


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
    artifacts.make_incoming(selectors.store(), version.incoming)
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
