"""Fetching the bytes of versions by reference: a worker's work, in slices, under a lease."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from apps.audit.services import record
from apps.common.actor import CLOCK
from apps.common.dispatch import wake
from apps.common.due import is_due, is_free
from apps.common.errors import ControlPlaneError
from apps.common.keeping import error_document
from apps.common.text import printable
from apps.common.transitions import try_move
from apps.registry import artifacts, growing, selectors, sources
from apps.registry.errors import DigestWrong, FetchKeptDying, IncomingFull, StoreFull, UploadEmpty, UploadTooLarge
from apps.registry.growing import Growing
from apps.registry.models import Fetch, Version
from apps.registry.services.leases import MOST_TRIES, Lease, LeaseLost
from apps.registry.services.limits import allowance_for, require_disk
from apps.registry.services.references import FETCH, policy
from apps.registry.services.versions import CHECK, FILENAME_CHARS
from apps.registry.sources import Opened, Position
from apps.registry.sources.errors import SourceUnreachable
from apps.registry.states import VersionState

log = logging.getLogger(__name__)
# So that slow sources leave the workers to others.
MOST_AT_ONCE = 2
SLICE_S = 20.0
# Above what a source may take to connect and to give its next byte.
PATIENCE_S = 45.0
LONGEST_PAUSE = timedelta(minutes=5)
GIVE_UP_AFTER = timedelta(hours=1)


def due_fetches(now: datetime) -> list[int]:
    """Versions whose bytes are to be fetched, by nobody at the moment."""
    due = Fetch.objects.filter(is_free(now), _is_due(now))
    return list(due.order_by("due_at", "pk").values_list("version_id", flat=True)[:MOST_AT_ONCE])


def _is_due(now: datetime) -> Q:
    return is_due("due_at", now, at_most=2 * LONGEST_PAUSE)


def fetch_version(version_id: int, *, now: datetime, slice_s: float = SLICE_S) -> None:
    """Fetch a slice of the bytes, or all that is left; the version is `received`, or `rejected` with its error.

    Safe to deliver twice. What may be better later is tried again with growing pauses, until no byte came for an hour.
    """
    found = _claim(version_id, now=now)
    if found is None:
        return
    fetch, lease = found
    try:
        if _take(fetch, lease, slice_s=slice_s):
            _hand_over(fetch, lease)
        else:
            lease.release(attempts=0, due_at=timezone.now())
            wake(FETCH, version_id=version_id)
    except LeaseLost:
        return
    except ControlPlaneError as error:
        _stop(fetch, lease, error)


def _claim(version_id: int, *, now: datetime) -> tuple[Fetch, Lease] | None:
    if Fetch.objects.exclude(is_free(now)).count() >= MOST_AT_ONCE:
        return None
    rows = Fetch.objects.filter(version_id=version_id)
    lease = Lease.claim(rows, _is_due(now), now=now, at_least_s=PATIENCE_S, counting="begun")
    return (rows.select_related("version__model").get(), lease) if lease else None


def _take(fetch: Fetch, lease: Lease, *, slice_s: float) -> bool:
    """Whether all bytes are here; False when there are more and it is others' turn."""
    if lease.is_worn_out:
        raise FetchKeptDying(f"{fetch.version}: {MOST_TRIES} fetches from {fetch.version.source} came to no end")
    reference = sources.parse(fetch.reference)
    with sources.opened(reference, policy(), _position(fetch)) as opened:
        _require_small(fetch, opened.size_bytes or 0)
        _reserve(fetch, lease, opened.size_bytes)
        fetch.mark, fetch.size_bytes = opened.mark, opened.size_bytes
        lease.renew(mark=fetch.mark, size_bytes=fetch.size_bytes)
        Version.objects.filter(pk=fetch.version_id).update(filename=printable(opened.filename)[:FILENAME_CHARS])
        with _file(fetch, lease, opened) as file:
            return _write(fetch, lease, opened, file, ends_s=time.monotonic() + slice_s)


def _reserve(fetch: Fetch, lease: Lease, size_bytes: int | None) -> None:
    """A share of what may be on its way in, once: as much as comes, or may come where the source does not say."""
    if not fetch.reserved_bytes:
        wanted = fetch.limit_bytes if size_bytes is None else size_bytes
        with allowance_for(wanted):
            require_disk(size_bytes or 0)
            lease.renew(reserved_bytes=wanted)
        fetch.reserved_bytes = wanted


def _position(fetch: Fetch) -> Position:
    """Where one was, if what came is still here."""
    path = artifacts.incoming(selectors.store(), fetch.version.incoming)
    is_here = path.is_file() and path.stat().st_size >= fetch.received_bytes
    return Position(fetch.received_bytes, fetch.mark) if is_here and fetch.mark else Position()


@contextmanager
def _file(fetch: Fetch, lease: Lease, opened: Opened) -> Iterator[Growing]:
    """The file from where the source goes on; what came of it is kept, whatever breaks."""
    store, name = selectors.store(), fetch.version.incoming
    path = artifacts.incoming(store, name)
    needed = max(0, (opened.size_bytes or 0) - opened.offset_bytes)
    with artifacts.faults(store, doing=f"receiving {fetch.version}", needed_bytes=needed):
        require_disk(needed, beside=fetch)
        if not path.is_file():
            artifacts.make_incoming(store, name)
        with Growing(path, offset_bytes=opened.offset_bytes) as file:
            try:
                yield file
            finally:
                _save(fetch, lease, file)


def _write(fetch: Fetch, lease: Lease, opened: Opened, file: Growing, *, ends_s: float) -> bool:
    for piece in artifacts.pieces(opened.pieces):
        _require_small(fetch, file.size_bytes + len(piece))
        file.write(piece)
        if lease.is_due:
            _save(fetch, lease, file)
        if opened.mark and time.monotonic() > ends_s and file.size_bytes != opened.size_bytes:
            return False
    if opened.size_bytes is not None and file.size_bytes != opened.size_bytes:
        raise SourceUnreachable(
            f"{fetch.version.source}: it broke off after {file.size_bytes:,} of {opened.size_bytes:,} bytes"
        )
    return True


def _save(fetch: Fetch, lease: Lease, file: Growing) -> None:
    file.flush()
    has_moved = file.size_bytes != fetch.received_bytes
    lease.renew(received_bytes=file.size_bytes, **({"moved_at": timezone.now()} if has_moved else {}))
    fetch.received_bytes = file.size_bytes


def _require_small(fetch: Fetch, size_bytes: int) -> None:
    if size_bytes > fetch.limit_bytes:
        raise UploadTooLarge(
            f"{fetch.version.source} has more than {fetch.limit_bytes:,} bytes", limit_bytes=fetch.limit_bytes
        )


def _hand_over(fetch: Fetch, lease: Lease) -> None:
    """The bytes are here: the version is received, and its check is woken."""
    version, size = fetch.version, fetch.received_bytes
    if not size:
        raise UploadEmpty(f"{version.source} has no bytes")
    path = artifacts.incoming(selectors.store(), version.incoming)
    with artifacts.faults(path.parent, doing=f"reading {version}"):
        digest = growing.digest_of(path, size_bytes=size, on_progress=lambda: lease.renew() if lease.is_due else None)
    if fetch.sha256 and digest != fetch.sha256:
        raise DigestWrong(f"{version.source} has the SHA-256 {digest}, announced was {fetch.sha256}")
    with transaction.atomic():
        lease.renew()
        if try_move(version, VersionState.RECEIVED, digest=digest, size_bytes=size, error={}):
            record(
                CLOCK,
                "version_fetched",
                subject_kind="version",
                subject=str(version),
                model=version.model.name,
                source=version.source,
                digest=digest,
                size_bytes=size,
            )
            wake(CHECK, version_id=version.pk)
        fetch.delete()


def _stop(fetch: Fetch, lease: Lease, error: ControlPlaneError) -> None:
    """Try again later, or never."""
    log.warning("%s: %s", fetch, error.message)
    now = timezone.now()
    moved_at = Fetch.objects.filter(pk=fetch.pk).values_list("moved_at", flat=True).first() or now
    try:
        # Room comes when others end; that is no fault of the source, which is given up after a while.
        if isinstance(error, IncomingFull | StoreFull) and not fetch.reserved_bytes:
            _put_off(fetch, lease, error, moved_at=now)
        elif error.retryable and now - moved_at < GIVE_UP_AFTER:
            _put_off(fetch, lease, error)
        else:
            _reject(fetch, lease, error)
    except LeaseLost:
        return


def _put_off(fetch: Fetch, lease: Lease, error: ControlPlaneError, **fields: Any) -> None:
    pause = min(timedelta(seconds=2 ** min(fetch.attempts, 10) * 2), LONGEST_PAUSE)
    with transaction.atomic():
        lease.release(attempts=F("attempts") + 1, due_at=timezone.now() + pause, **fields)
        waiting = Version.objects.filter(pk=fetch.version_id, state=VersionState.FETCHING)
        waiting.update(error=error_document(error))


def _reject(fetch: Fetch, lease: Lease, error: ControlPlaneError) -> None:
    version = fetch.version
    with transaction.atomic():
        lease.renew()
        if try_move(version, VersionState.REJECTED, error=error_document(error)):
            record(
                CLOCK,
                "version_rejected",
                subject_kind="version",
                subject=str(version),
                model=version.model.name,
                reason=error.message,
                code=error.code,
            )
        fetch.delete()
    artifacts.drop_incoming(selectors.store(), version.incoming)
