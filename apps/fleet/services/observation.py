"""Observing servers: all at once, each with its own deadline, none waiting for another."""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from concurrent.futures import TimeoutError as OutOfTime
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

from django.db import transaction

from apps.audit.services import record
from apps.common.actor import CLOCK
from apps.common.errors import ControlPlaneError
from apps.common.text import SHOWN_CHARS, printable
from apps.fleet import connecting, probe, selectors
from apps.fleet.errors import ServerNotAsked
from apps.fleet.models import Observation, ObservedVersion, Server
from apps.fleet.services.sightings import Before, keep_versions
from apps.fleet.states import ServerState
from apps.serving.protocol import Readiness

log = logging.getLogger(__name__)
MOST_AT_ONCE = 64
# Every call has a deadline of 3 s; a directory on a hung network file system has none.
GIVE_UP_AFTER_S = 12.0
NOTHING_CHANGES: Mapping[int, Collection[str]] = MappingProxyType({})

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
    wanted = selectors.servers(state=ServerState.ACTIVE).filter(pk__in=server_ids)
    for server, outcome in _sightings(list(wanted), give_up_after_s):
        if isinstance(outcome, ControlPlaneError):
            _keep_failure(server, outcome, now=now)
        else:
            _keep_sighting(server, outcome, now=now, changing=changing.get(server.pk, ()))


def _sightings(servers: list[Server], give_up_after_s: float) -> Iterator[tuple[Server, Outcome]]:
    """Each server's outcome as it comes in; no database connection is used meanwhile by the asking threads."""
    if not servers:
        return
    pool = ThreadPoolExecutor(min(MOST_AT_ONCE, len(servers)), thread_name_prefix="observe")
    asked: dict[Future[Outcome], Server] = {pool.submit(_look, server): server for server in servers}
    silent = set(asked)
    try:
        for future in as_completed(asked, timeout=give_up_after_s):
            silent.discard(future)
            yield asked[future], future.result()
    except OutOfTime:
        for future in silent:
            server = asked[future]
            yield server, ServerNotAsked(f"{server.name}: observing it took more than {give_up_after_s:g} s")
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _look(server: Server) -> Outcome:
    try:
        return probe.look(connecting.connect(server), root=Path(server.repository.path))
    except ControlPlaneError as error:
        return error


@transaction.atomic
def _keep_sighting(server: Server, seen: probe.Sighting, *, now: datetime, changing: Collection[str]) -> None:
    before = _before(server, changing)
    said: dict[str, object] = {
        "seen_at": now,
        "is_ready": seen.is_ready,
        "server_version": seen.server_version[:64],
        "extensions": list(seen.extensions),
        "code": "",
        "reason": "",
        "counters": before.counters if seen.counters is None else seen.counters,
    }
    if not _keep(server, now=now, is_reachable=True, **said):
        return
    restart = keep_versions(server.pk, seen, now=now, before=before)
    if restart.is_server:
        Observation.objects.filter(server=server).update(restarted_at=now)
        _record("server_restarted", server, reason=f"{len(restart.versions)} versions started anew or are gone")


def _before(server: Server, changing: Collection[str]) -> Before:
    """What was known of the server when it was asked."""
    known: Observation | None = getattr(server, "observation", None)
    if known is None:
        return Before()
    counters = {key: (int(requests), int(spent_us)) for key, (requests, spent_us) in known.counters.items()}
    return Before(at=known.seen_at, counters=counters, changing=changing)


@transaction.atomic
def _keep_failure(server: Server, error: ControlPlaneError, *, now: datetime) -> None:
    _keep(server, now=now, is_reachable=False, code=error.code, reason=printable(error.message, limit=SHOWN_CHARS))


def _keep(server: Server, *, now: datetime, is_reachable: bool, **said: object) -> bool:
    """Write the observation; False when a later one was faster. A change of reach is an event, told once."""
    _, is_new = Observation.objects.get_or_create(
        server=server, defaults={"at": now, "since": now, "is_reachable": is_reachable, **said}
    )
    if is_new:
        if not is_reachable:
            _tell(server, is_reachable=False, reason=str(said["reason"]))
        return True
    mine = Observation.objects.filter(server=server, at__lte=now)
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
def record_load(server: Server, *, model: str, stamps: dict[int, int | None], now: datetime) -> None:
    """Keep the time stamps of versions just loaded: while they do not move, a load restarts nothing."""
    for version, stamp in stamps.items():
        loaded = {"loaded_stamp_ns": stamp, "seen_stamp_ns": stamp, "loaded_at": now, "restarted_at": None}
        rows = ObservedVersion.objects.filter(server=server, model=model, version=version)
        if rows.filter(state=Readiness.READY).update(**loaded):
            continue
        came_up = {"state": Readiness.READY, "reason": "", "since": now, **loaded}
        ObservedVersion.objects.update_or_create(server=server, model=model, version=version, defaults=came_up)
