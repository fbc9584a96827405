"""A server's index as rows: only what has changed is written, and what has not is written at once for many."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from apps.common.errors import ControlPlaneError
from apps.common.names import SHADOW_SUFFIX
from apps.common.text import SHOWN_CHARS, printable
from apps.fleet import restarts
from apps.fleet.models import Observation, ObservedVersion, Server
from apps.fleet.probe import Sighting
from apps.fleet.restarts import NOTHING, Counters, Restart
from apps.serving.protocol import IndexEntry, Readiness

Key = tuple[str, int]
COMPARED = ("server_id", "model", "version", "state", "reason", "seen_stamp_ns", "loaded_at")


@dataclass(frozen=True, slots=True)
class Before:
    """What was known when the server was asked: its counters, since when, and which models Conch is changing there."""

    at: datetime | None = None
    counters: Counters = field(default_factory=dict)
    changing: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """What was last seen on some servers, read in one query: most of it is still so.

    `changing` names, by server, the models that Conch itself is loading there.
    """

    rows: Mapping[int, Mapping[Key, Any]]
    changing: Mapping[int, Collection[str]]

    @classmethod
    def of(cls, servers: Collection[Server], changing: Mapping[int, Collection[str]]) -> "Known":
        """The rows there are now; each server carries its observation already."""
        found: dict[int, dict[Key, Any]] = defaultdict(dict)
        for row in ObservedVersion.objects.filter(server__in=servers).values_list(*COMPARED, named=True):
            found[row.server_id][row.model, row.version] = row
        return cls(found, changing)

    def before(self, server: Server) -> Before:
        """What was known of the server when it was asked."""
        known: Observation | None = getattr(server, "observation", None)
        if known is None:
            return Before()
        counters = {key: (int(requests), int(spent_us)) for key, (requests, spent_us) in known.counters.items()}
        return Before(at=known.seen_at, counters=counters, changing=self.changing.get(server.pk, ()))

    def is_same(self, server: Server, outcome: Sighting | ControlPlaneError) -> bool:
        """Whether nothing has changed but the time, and what the versions have answered since."""
        last: Observation | None = getattr(server, "observation", None)
        if last is None:
            return False
        if isinstance(outcome, ControlPlaneError):
            told = printable(outcome.message, limit=SHOWN_CHARS)
            return (last.is_reachable, last.code, last.reason) == (False, outcome.code, told)
        said = (True, outcome.is_ready, outcome.server_version, list(outcome.extensions))
        if (last.is_reachable, last.is_ready, last.server_version, last.extensions) != said:
            return False
        return self._has_same_versions(server, outcome)

    def _has_same_versions(self, server: Server, seen: Sighting) -> bool:
        rows = self.rows.get(server.pk, {})
        entries = {_key(entry): entry for entry in seen.entries}
        was = {key: (row.state, row.reason, row.seen_stamp_ns) for key, row in rows.items()}
        if was != {key: (entry.state, entry.reason, seen.stamps.get(key)) for key, entry in entries.items()}:
            return False
        return _judge(self.before(server), rows, entries, seen) == NOTHING


def touch(same: Mapping[Server, Sighting | ControlPlaneError], *, now: datetime) -> None:
    """These were asked and nothing has changed: a statement for all that answered, and one for the others.

    What versions have answered so far is kept too: only if it goes down later, something has started anew.
    """
    silent = [server.pk for server, outcome in same.items() if isinstance(outcome, ControlPlaneError)]
    mine = Observation.objects.filter(at__lte=now)
    if silent:
        mine.filter(server__in=silent, is_reachable=False).update(at=now)
    answered = {server: outcome for server, outcome in same.items() if isinstance(outcome, Sighting)}
    busy = [server for server, seen in answered.items() if _has_counted(server, seen)]
    quiet = [server.pk for server in answered if server not in busy]
    if quiet:
        mine.filter(server__in=quiet, is_reachable=True).update(at=now, seen_at=now)
    for server in busy:
        last, counters = server.observation, answered[server].counters or {}
        last.asked = restarts.asked_since(last.counters, counters, known=last.asked, at=now)
        last.at, last.seen_at, last.counters = now, now, counters
    if busy:
        mine.bulk_update([server.observation for server in busy], ["at", "seen_at", "counters", "asked"])


def _has_counted(server: Server, seen: Sighting) -> bool:
    counted = {key: list(both) for key, both in (seen.counters or {}).items()}
    return seen.counters is not None and counted != server.observation.counters


def keep_versions(server_id: int, seen: Sighting, *, now: datetime, before: Before | None = None) -> Restart:
    """Make the server's rows what the index said at `now`; rows written later than that stay as they are.

    Gives what has started anew since `before`.
    """
    known = {(row.model, row.version): row for row in ObservedVersion.objects.filter(server_id=server_id)}
    entries = {(entry.model, entry.version or 0): entry for entry in seen.entries}
    newer = {key for key, row in known.items() if row.since > now}
    restart = _judge(before, known, entries, seen) if before else NOTHING
    _write_new(server_id, [entry for key, entry in entries.items() if key not in known], seen, now=now)
    _write_changed(
        [(known[key], entry) for key, entry in entries.items() if key in known.keys() - newer], seen, now=now
    )
    _write_restarted([row for key, row in known.items() if key in entries.keys() - newer], restart, now=now)
    gone = [row.pk for key, row in known.items() if key not in entries and key not in newer]
    if gone:
        ObservedVersion.objects.filter(pk__in=gone, since__lte=now).delete()
    return restart


def _judge(before: Before, known: Mapping[Key, Any], entries: Mapping[Key, IndexEntry], seen: Sighting) -> Restart:
    """What has started anew, but for what Conch itself is loading, or has loaded since."""
    foreign = {restarts.key_of(*key) for key, row in known.items() if _is_foreign(row, before)}
    return restarts.judge(
        {key: counted for key, counted in before.counters.items() if key in foreign},
        seen.counters,
        ready=[
            restarts.key_of(*key)
            for key, row in known.items()
            if seen.tells_all and row.state == Readiness.READY and _is_foreign(row, before)
        ],
        listed={restarts.key_of(*key) for key in entries},
    )


def _is_foreign(row: Any, before: Before) -> bool:
    if row.model in before.changing or row.model.endswith(SHADOW_SUFFIX) or before.at is None:
        return False
    return row.loaded_at is None or row.loaded_at < before.at


def _write_restarted(rows: Iterable[ObservedVersion], restart: Restart, *, now: datetime) -> None:
    fresh = [row.pk for row in rows if restart.is_server or restarts.key_of(row.model, row.version) in restart.versions]
    if restart.versions and fresh:
        ObservedVersion.objects.filter(pk__in=fresh, state=Readiness.READY, since__lte=now).update(restarted_at=now)


def _write_new(server_id: int, entries: list[IndexEntry], seen: Sighting, *, now: datetime) -> None:
    """Somebody may have written the same row meanwhile; theirs is newer and stays."""
    rows = [
        ObservedVersion(
            server_id=server_id,
            model=entry.model,
            version=entry.version or 0,
            state=entry.state,
            reason=entry.reason,
            since=now,
            seen_stamp_ns=seen.stamps.get(_key(entry)),
        )
        for entry in entries
    ]
    if rows:
        ObservedVersion.objects.bulk_create(rows, ignore_conflicts=True)


def _write_changed(pairs: list[tuple[ObservedVersion, IndexEntry]], seen: Sighting, *, now: datetime) -> None:
    for row, entry in pairs:
        fields = _changes(row, entry, seen.stamps.get(_key(entry)), now=now)
        if fields:
            ObservedVersion.objects.filter(pk=row.pk, since__lte=now).update(**fields)


def _changes(row: ObservedVersion, entry: IndexEntry, stamp: int | None, *, now: datetime) -> dict[str, object]:
    fields: dict[str, object] = {}
    if row.state != entry.state:
        fields |= {"state": entry.state, "since": now}
        if entry.state != Readiness.READY:
            fields |= {"loaded_stamp_ns": None, "loaded_under": "", "restarted_at": None}
    if row.reason != entry.reason:
        fields["reason"] = entry.reason
    if row.seen_stamp_ns != stamp:
        fields["seen_stamp_ns"] = stamp
    return fields


def _key(entry: IndexEntry) -> Key:
    return entry.model, entry.version or 0
