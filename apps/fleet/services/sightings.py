"""A server's index as rows: only what has changed is written."""

from datetime import datetime

from apps.fleet.models import ObservedVersion
from apps.fleet.probe import Sighting
from apps.serving.protocol import IndexEntry, Readiness

Key = tuple[str, int]


def keep_versions(server_id: int, seen: Sighting, *, now: datetime) -> None:
    """Make the server's rows what the index said at `now`; rows written later than that stay as they are."""
    known = {(row.model, row.version): row for row in ObservedVersion.objects.filter(server_id=server_id)}
    entries = {(entry.model, entry.version or 0): entry for entry in seen.entries}
    newer = {key for key, row in known.items() if row.since > now}
    _write_new(server_id, [entry for key, entry in entries.items() if key not in known], seen, now=now)
    _write_changed(
        [(known[key], entry) for key, entry in entries.items() if key in known.keys() - newer], seen, now=now
    )
    gone = [row.pk for key, row in known.items() if key not in entries and key not in newer]
    if gone:
        ObservedVersion.objects.filter(pk__in=gone, since__lte=now).delete()


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
            fields["loaded_stamp_ns"] = None
    if row.reason != entry.reason:
        fields["reason"] = entry.reason
    if row.seen_stamp_ns != stamp:
        fields["seen_stamp_ns"] = stamp
    return fields


def _key(entry: IndexEntry) -> Key:
    return entry.model, entry.version or 0
