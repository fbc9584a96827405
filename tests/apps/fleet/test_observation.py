"""Observing: what a server says is kept, changes are told once, and a hung one holds up nobody."""

import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.audit.models import Event
from apps.fleet import connecting, selectors, services
from apps.fleet.models import Observation, ObservedVersion, Server
from apps.fleet.probe import Sighting
from apps.fleet.repositories import posix as repositories
from apps.fleet.services.sightings import keep_versions
from apps.serving.protocol import IndexEntry, Readiness
from tests.apps.fleet.conftest import named
from tests.doubles.fleet import SimulatedFleet, SimulatedTriton
from tests.factories.triton_models import python_model
from tests.fixtures.tritons import StartTriton

LATER = timedelta(seconds=5)


@pytest.fixture
def hung() -> Iterator[list[str]]:
    """Twenty addresses that take a connection and never answer."""
    with ExitStack() as listening:
        sockets = [listening.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(20)]
        yield [f"127.0.0.1:{held.getsockname()[1]}" for held in sockets]


@pytest.fixture(scope="module")
def triton(start_triton: StartTriton) -> Any:
    server = start_triton("observed")
    python_model(server.repository, "echo", 1, config=True)
    python_model(server.repository, "bad", 1, initialize="raise RuntimeError('no such file')", config=True)
    return server


def add_real(triton: Any) -> Server:
    Path(triton.repository)
    server = named("real", triton.grpc)
    server.repository.path = str(triton.repository)
    server.repository.save()
    return selectors.get_server("real")


def seen(server: str) -> list[tuple[str, int, str]]:
    return list(selectors.observed(server=server).values_list("model", "version", "state"))


@pytest.mark.live
@pytest.mark.django_db(transaction=True)
class TestRealServer:
    """Against a real Triton."""

    def test_versions_with_a_state_are_kept_with_stamps_and_reasons(self, triton: Any, environment: str) -> None:
        server = add_real(triton)
        backend = connecting.connect(server)
        backend.load("echo", timeout_s=20)
        with pytest.raises(Exception, match="no such file"):
            backend.load("bad", timeout_s=20)

        services.observe([server.pk], now=timezone.now())

        assert seen("real") == [("bad", 1, "UNAVAILABLE"), ("echo", 1, "READY")]
        rows = {row.model: row for row in selectors.observed(server="real")}
        stamp = repositories.newest_stamp_ns(triton.repository, model="echo", number=1)
        assert (rows["echo"].seen_stamp_ns, rows["bad"].seen_stamp_ns) == (stamp, None)
        assert "no such file" in rows["bad"].reason
        assert (selectors.get_server("real").repository.free_bytes or 0) > 0

    def test_a_server_that_hangs_keeps_what_was_seen_and_comes_back(self, triton: Any, environment: str) -> None:
        server = add_real(triton)
        connecting.connect(server).load("echo", timeout_s=20)
        start = timezone.now()
        services.observe([server.pk], now=start)
        before = seen("real")

        triton.pause()
        services.observe([server.pk], now=start + LATER)
        services.observe([server.pk], now=start + 2 * LATER)
        paused = Observation.objects.get(server=server)
        kept = seen("real")
        triton.resume()
        services.observe([server.pk], now=start + 3 * LATER)

        back = Observation.objects.get(server=server)
        assert (paused.is_reachable, paused.code, paused.seen_at, paused.since) == (
            False,
            "server_unreachable",
            start,
            start + LATER,
        )
        assert paused.reason != ""
        assert (kept, back.is_reachable, back.reason, back.since) == (before, True, "", start + 3 * LATER)
        told = Event.objects.filter(subject="real", actor="conch").order_by("pk").values_list("verb", flat=True)
        assert list(told) == ["server_unreachable", "server_back"]

    def test_a_look_during_a_load_finds_the_server_up_and_the_version_loading(
        self, triton: Any, environment: str
    ) -> None:
        python_model(triton.repository, "slow", 1, initialize="time.sleep(2)", config=True)
        server, load = add_real(triton), f"http://{triton.http}/v2/repository/models/slow/load"
        # Over HTTP, as others do it: such a load keeps one of the server's few HTTP threads busy to its end.
        loading = threading.Thread(target=urllib.request.urlopen, args=(urllib.request.Request(load, b"{}"),))
        loading.start()
        time.sleep(0.5)

        services.observe([server.pk], now=timezone.now())
        loading.join()

        told = Observation.objects.get(server=server)
        assert (told.is_reachable, told.code) == (True, "")
        assert ("slow", 1, "LOADING") in seen("real")
        assert not Event.objects.filter(subject="real", verb="server_unreachable").exists()

    def test_hung_servers_hold_up_no_other(self, triton: Any, hung: list[str], environment: str) -> None:
        server = add_real(triton)
        others = [named(f"hung-{number}", grpc).pk for number, grpc in enumerate(hung)]
        began = time.monotonic()

        services.observe([*others, server.pk], now=timezone.now())

        one_after_another_s = 3 * len(hung)
        assert time.monotonic() - began < one_after_another_s / 2
        assert Observation.objects.get(server=server).is_reachable
        assert Observation.objects.filter(is_reachable=False, code="server_unreachable").count() == len(hung)


@pytest.fixture
def one(environment: str) -> Server:
    return named("one", "127.0.0.1:1")


def sighting(*entries: tuple[str, int, Readiness], stamps: dict[tuple[str, int], int | None] | None = None) -> Sighting:
    return Sighting(
        entries=tuple(IndexEntry(*entry) for entry in entries),
        is_ready=True,
        server_version="2.51.0",
        extensions=(),
        stamps=stamps or {},
    )


def test_rows_follow_the_index_and_only_changes_are_written(one: Server, django_assert_num_queries: Any) -> None:
    start = timezone.now()
    keep_versions(one.pk, sighting(("m", 1, Readiness.READY), ("m", 2, Readiness.LOADING)), now=start)

    keep_versions(one.pk, sighting(("m", 2, Readiness.READY), ("m", 3, Readiness.LOADING)), now=start + LATER)
    with django_assert_num_queries(1):
        keep_versions(one.pk, sighting(("m", 2, Readiness.READY), ("m", 3, Readiness.LOADING)), now=start + 2 * LATER)

    rows = list(selectors.observed(server="one").values_list("version", "state", "since"))
    assert rows == [(2, "READY", start + LATER), (3, "LOADING", start + LATER)]


def test_a_load_kept_meanwhile_outlives_an_older_index(one: Server) -> None:
    asked_at = timezone.now()
    loaded_at = asked_at + timedelta(seconds=1)
    services.record_load(one, model="m", stamps={1: 7}, now=loaded_at)

    keep_versions(one.pk, sighting(("m", 1, Readiness.LOADING)), now=asked_at)
    keep_versions(one.pk, sighting(), now=asked_at)

    row = ObservedVersion.objects.get()
    assert (row.state, row.loaded_stamp_ns, row.since) == ("READY", 7, loaded_at)


def test_a_load_of_what_is_ready_renews_its_stamp_and_not_its_age(one: Server) -> None:
    start = timezone.now()
    services.record_load(one, model="m", stamps={1: 7, 2: None}, now=start)

    services.record_load(one, model="m", stamps={1: 8}, now=start + LATER)

    rows = list(ObservedVersion.objects.order_by("version").values_list("version", "loaded_stamp_ns", "since"))
    assert rows == [(1, 8, start), (2, None, start)]


def test_a_version_that_went_away_is_not_hot_when_it_comes_back(one: Server) -> None:
    start = timezone.now()
    services.record_load(one, model="m", stamps={1: 7}, now=start)

    for later, state in enumerate((Readiness.UNAVAILABLE, Readiness.READY), start=1):
        keep_versions(one.pk, sighting(("m", 1, state), stamps={("m", 1): 7}), now=start + later * LATER)

    row = ObservedVersion.objects.get()
    assert (row.state, row.loaded_stamp_ns, row.seen_stamp_ns) == ("READY", None, 7)


def test_a_moved_time_stamp_is_seen(one: Server) -> None:
    start = timezone.now()
    services.record_load(one, model="m", stamps={1: 7}, now=start)

    keep_versions(one.pk, sighting(("m", 1, Readiness.READY), stamps={("m", 1): 9}), now=start + LATER)

    row = ObservedVersion.objects.get()
    assert (row.loaded_stamp_ns, row.seen_stamp_ns) == (7, 9)


def observe_at(server: Server, moment: datetime) -> Observation:
    services.observe([server.pk], now=moment)
    return Observation.objects.get(server=server)


@pytest.mark.django_db(transaction=True)
def test_an_older_observation_never_overwrites_a_later_one(environment: str) -> None:
    server, now = named("one", "127.0.0.1:1"), timezone.now()
    observe_at(server, now)

    kept = observe_at(server, now - LATER)

    assert (kept.at, Event.objects.filter(verb="server_unreachable").count()) == (now, 1)


@pytest.mark.django_db(transaction=True)
def test_whoever_takes_longer_than_any_server_may_is_unreachable(hung: list[str], environment: str) -> None:
    server = named("one", hung[0])

    services.observe([server.pk], now=timezone.now(), give_up_after_s=0.1)

    kept = Observation.objects.get(server=server)
    assert (kept.is_reachable, kept.code, "more than 0.1 s" in kept.reason) == (False, "observation_late", True)


@pytest.mark.django_db(transaction=True)
def test_only_active_servers_are_asked(environment: str) -> None:
    server = named("one", "127.0.0.1:1", state="checking")

    services.observe([server.pk, 10**6], now=timezone.now())

    assert not Observation.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_what_has_not_changed_writes_the_time_and_no_row(
    simulated_fleet: SimulatedFleet, environment: str, root: Path
) -> None:
    python_model(root, "echo", 1, config=True)
    tritons = [SimulatedTriton(simulated_fleet, f"sim-{n}", repository=root, load_models=None) for n in range(5)]
    simulated_fleet.add(*tritons)
    down = named("down", "127.0.0.1:1")
    ids = [down.pk, *(named(triton.name, triton.grpc).pk for triton in tritons)]
    services.observe(ids, now=timezone.now())
    before = (Observation.objects.count(), ObservedVersion.objects.count(), Event.objects.count())
    later = timezone.now() + LATER

    with CaptureQueriesContext(connection) as queries:
        services.observe(ids, now=later)

    written = [query["sql"] for query in queries if not query["sql"].startswith("SELECT")]
    assert [sql for sql in written if not sql.startswith('UPDATE "fleet_observation"')] == []
    assert (Observation.objects.count(), ObservedVersion.objects.count(), Event.objects.count()) == before
    assert set(Observation.objects.values_list("at", flat=True)) == {later}
    assert Observation.objects.get(server=down).seen_at is None
    assert before[1] == len(tritons)
    for triton in tritons:
        triton.kill()
