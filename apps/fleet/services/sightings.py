"""A server's index as rows: only what has changed is written."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from apps.common.names import SHADOW_SUFFIX
from apps.fleet import restarts
from apps.fleet.models import ObservedVersion
from apps.fleet.probe import Sighting
from apps.fleet.restarts import NOTHING, Counters, Restart
from apps.serving.protocol import IndexEntry, Readiness

Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Before:
    """What was known when the server was asked: its counters, since when, and which models Conch is changing there."""

    at: datetime | None = None
    counters: Counters = field(default_factory=dict)
    changing: Collection[str] = ()


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


def _judge(
    before: Before, known: Mapping[Key, ObservedVersion], entries: Mapping[Key, IndexEntry], seen: Sighting
) -> Restart:
    """What has started anew, but for what Conch itself is loading, or has loaded since."""
    foreign = {restarts.key_of(*key) for key, row in known.items() if _is_foreign(row, before)}
    return restarts.judge(
        {key: counted for key, counted in before.counters.items() if key in foreign},
        seen.counters,
        ready=[
            restarts.key_of(*key)
            for key, row in known.items()
            if row.state == Readiness.READY and _is_foreign(row, before)
        ],
        listed={restarts.key_of(*key) for key in entries},
    )


def _is_foreign(row: ObservedVersion, before: Before) -> bool:
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
            fields |= {"loaded_stamp_ns": None, "restarted_at": None}
    if row.reason != entry.reason:
        fields["reason"] = entry.reason
    if row.seen_stamp_ns != stamp:
        fields["seen_stamp_ns"] = stamp
    return fields


def _key(entry: IndexEntry) -> Key:
    return entry.model, entry.version or 0
