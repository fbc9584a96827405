"""Observing servers: all at once, each with its own deadline, none waiting for another."""

import logging
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django.db import transaction

from apps.audit.services import record
from apps.common.actor import CLOCK
from apps.common.errors import ControlPlaneError
from apps.common.text import SHOWN_CHARS, printable
from apps.fleet import connecting, probe, restarts, selectors
from apps.fleet.errors import ServerNotAsked
from apps.fleet.models import Observation, ObservedVersion, Server
from apps.fleet.repositories import open_home
from apps.fleet.services.rooms import Rooms
from apps.fleet.services.sightings import Before, Known, keep_versions, touch
from apps.serving.protocol import Readiness

log = logging.getLogger(__name__)
MOST_AT_ONCE = 64
# Every call has a deadline of 3 s; a directory on a hung network file system has none.
GIVE_UP_AFTER_S = 12.0
# What comes in within this is compared and written together: a hung server keeps the others waiting for no longer.
TOGETHER_S = 0.1
NOTHING_CHANGES: Mapping[int, Collection[str]] = MappingProxyType({})

# What makes a version's row one of its own, and what a load writes into it.
ONE_ROW = ("server", "model", "version")
LOADED = ("state", "reason", "since", "loaded_stamp_ns", "seen_stamp_ns", "loaded_at", "loaded_under", "restarted_at")

Outcome = probe.Sighting | ControlPlaneError


def observe(
    server_ids: Sequence[int],
    *,
    now: datetime,
    changing: Mapping[int, Collection[str]] = NOTHING_CHANGES,
    give_up_after_s: float = GIVE_UP_AFTER_S,
) -> None:
    """Ask these servers what they serve and keep what has changed; a hung one holds up no other.

    `changing` names, by server, the models that Conch itself is loading there: their fresh start tells nothing.
    """
    servers = list(selectors.servers_to_ask(server_ids))
    known, rooms = Known.of(servers, changing), Rooms()
    for outcomes in _sightings(servers, rooms, give_up_after_s):
        same = {server: outcome for server, outcome in outcomes if known.is_same(server, outcome)}
        touch(same, now=now)
        for server, outcome in outcomes:
            if server in same:
                continue
            if isinstance(outcome, ControlPlaneError):
                _keep_failure(server, outcome, now=now)
            else:
                _keep_sighting(server, outcome, now=now, before=known.before(server))
    rooms.keep(now=now)


def _sightings(servers: list[Server], rooms: Rooms, give_up_after_s: float) -> Iterator[list[tuple[Server, Outcome]]]:
    """Outcomes as they come in, as many as there are; the asking threads use no database connection meanwhile."""
    if not servers:
        return
    stamps = probe.Stamps()
    pool = ThreadPoolExecutor(min(MOST_AT_ONCE, len(servers)), thread_name_prefix="observe")
    asked: dict[Future[Outcome], Server] = {pool.submit(_look, server, stamps, rooms): server for server in servers}
    silent, deadline_s = set(asked), time.monotonic() + give_up_after_s
    try:
        while silent and time.monotonic() < deadline_s:
            done, silent = wait(silent, timeout=deadline_s - time.monotonic(), return_when=FIRST_COMPLETED)
            soon, silent = wait(silent, timeout=TOGETHER_S)
            yield [(asked[future], future.result()) for future in (*done, *soon)]
        late = f"observing it took more than {give_up_after_s:g} s"
        yield [(asked[one], ServerNotAsked(f"{asked[one].name}: {late}")) for one in silent]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _look(server: Server, stamps: probe.Stamps, rooms: Rooms) -> Outcome:
    try:
        home = open_home(server.repository)
        seen = probe.look(connecting.connect(server), home=home, stamps=stamps)
    except ControlPlaneError as error:
        return error
    rooms.read(server.repository, home)
    return seen


@transaction.atomic
def _keep_sighting(server: Server, seen: probe.Sighting, *, now: datetime, before: Before) -> None:
    said: dict[str, object] = {
        "seen_at": now,
        "is_ready": seen.is_ready,
        "server_version": seen.server_version[:64],
        "extensions": list(seen.extensions),
        "code": "",
        "reason": "",
        "counters": before.counters if seen.counters is None else seen.counters,
    }
    if seen.counters is not None and before.counters:
        known = server.observation.asked if hasattr(server, "observation") else {}
        said["asked"] = restarts.asked_since(before.counters, seen.counters, known=known, at=now)
    if not _keep(server, now=now, is_reachable=True, **said):
        return
    restart = keep_versions(server.pk, seen, now=now, before=before)
    if restart.is_server:
        Observation.objects.filter(server=server).update(restarted_at=now)
        _record("server_restarted", server, reason=f"{len(restart.versions)} versions started anew or are gone")


@transaction.atomic
def _keep_failure(server: Server, error: ControlPlaneError, *, now: datetime) -> None:
    _keep(server, now=now, is_reachable=False, code=error.code, reason=printable(error.message, limit=SHOWN_CHARS))


def _keep(server: Server, *, now: datetime, is_reachable: bool, **said: object) -> bool:
    """Write the observation; False when a later one was faster. A change of reach is an event, told once."""
    mine = Observation.objects.filter(server=server, at__lte=now)
    if mine.filter(is_reachable=is_reachable).update(at=now, **said):
        return True
    _, is_new = Observation.objects.get_or_create(
        server=server, defaults={"at": now, "since": now, "is_reachable": is_reachable, **said}
    )
    if is_new:
        if not is_reachable:
            _tell(server, is_reachable=False, reason=str(said["reason"]))
        return True
    if mine.filter(is_reachable=not is_reachable).update(at=now, since=now, is_reachable=is_reachable, **said):
        _tell(server, is_reachable=is_reachable, reason=str(said["reason"]))
        return True
    return bool(mine.update(at=now, **said))


def _tell(server: Server, *, is_reachable: bool, reason: str) -> None:
    _record("server_back" if is_reachable else "server_unreachable", server, reason=reason)


def _record(verb: str, server: Server, *, reason: str) -> None:
    environment = server.environment.name
    record(CLOCK, verb, subject_kind="server", subject=server.name, environment=environment, reason=reason)
    log.log(logging.INFO if verb == "server_back" else logging.WARNING, "%s: %s %s", verb, server.name, reason)


@transaction.atomic
def record_load(server: Server, *, model: str, stamps: dict[int, int | None], now: datetime, under: str = "") -> None:
    """Keep the time stamps of versions just loaded: while they do not move, a load restarts nothing.

    `under` is the digest of the overlay they were loaded under.
    """
    came_up = []
    for version, stamp in stamps.items():
        loaded: dict[str, Any] = {"loaded_stamp_ns": stamp, "seen_stamp_ns": stamp, "loaded_at": now}
        loaded |= {"loaded_under": under, "restarted_at": None}
        rows = ObservedVersion.objects.filter(server=server, model=model, version=version)
        if not rows.filter(state=Readiness.READY).update(**loaded):
            fresh = {"state": Readiness.READY, "reason": "", "since": now, **loaded}
            came_up.append(ObservedVersion(server=server, model=model, version=version, **fresh))
    ObservedVersion.objects.bulk_create(came_up, update_conflicts=True, unique_fields=ONE_ROW, update_fields=LOADED)
