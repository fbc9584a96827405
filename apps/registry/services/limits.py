"""How much may come in: of one upload by who sends it, of one sender, and in all."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, QuerySet, Sum
from django.db.models.expressions import CombinedExpression

from apps.access import services as access
from apps.common.actor import Actor
from apps.registry import artifacts, selectors
from apps.registry.errors import IncomingFull, TooManyUploads, UploadTooLarge
from apps.registry.models import Fetch, Upload, Version
from apps.registry.states import WAITING_UPLOADS, UploadState, VersionState

# The lock of PostgreSQL under which room is given; SQLite has one writer at a time anyhow.
ONE_AT_A_TIME = 0x434F4E4348
# Whose bytes lie among the incoming ones.
UNCHECKED = (VersionState.RECEIVED, VersionState.CHECKING, VersionState.CHOOSING)


def largest_upload() -> int:
    """The most bytes taken in one upload, from anybody."""
    return int(settings.CONCH["max_upload_bytes"])


def upload_limit(actor: Actor) -> int:
    """The most bytes taken from that actor in one upload."""
    most, of_operators = largest_upload(), int(settings.CONCH["operator_max_upload_bytes"])
    if not of_operators or access.may(actor, "add_large_version"):
        return most
    return min(most, of_operators)


def require_small(actor: Actor, size_bytes: int) -> None:
    """UploadTooLarge when that actor may not send so much at once."""
    limit = upload_limit(actor)
    if size_bytes > limit:
        raise UploadTooLarge(
            f"the upload has {size_bytes:,} bytes, {actor.name} may send {limit:,}", field="file", limit_bytes=limit
        )


@contextmanager
def place_for(actor: Actor, size_bytes: int) -> Iterator[None]:
    """A place for one more unfinished upload, whose row is made within, or TooManyUploads; see `room_for`."""
    with room_for(size_bytes):
        most = int(settings.CONCH["max_unfinished_uploads"])
        if Upload.objects.filter(state__in=WAITING_UPLOADS, owner=actor.identity).count() >= most:
            raise TooManyUploads(f"{actor.name} has {most} unfinished uploads", limit=most)
        yield


@contextmanager
def room_for(size_bytes: int) -> Iterator[None]:
    """As `allowance_for`, and StoreFull where the disk has no room for it."""
    with allowance_for(size_bytes):
        require_disk(size_bytes)
        yield


@contextmanager
def allowance_for(size_bytes: int) -> Iterator[None]:
    """IncomingFull where so much more may not come in; what is written within counts from then on.

    One at a time, in all processes: of two that ask at once the second sees what the first was promised.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ONE_AT_A_TIME])
        _require_allowance(size_bytes)
        yield


def require_room(size_bytes: int) -> None:
    """IncomingFull or StoreFull when so many bytes are too much beside all that is on its way in, by whatever door."""
    _require_allowance(size_bytes)
    require_disk(size_bytes)


def _require_allowance(size_bytes: int) -> None:
    most, taken = int(settings.CONCH["max_incoming_bytes"]), incoming_bytes()
    if size_bytes > most - taken:
        more = f"{size_bytes:,} bytes more are too much" if size_bytes else f"more than {most:,} bytes are too much"
        raise IncomingFull(f"{more}: {taken:,} are on their way in already", room_bytes=max(0, most - taken))


def require_disk(size_bytes: int, *, beside: Fetch | None = None) -> None:
    """StoreFull when so many bytes do not fit beside those promised to all others than `beside`."""
    store = selectors.store()
    with artifacts.faults(store, doing="looking for room", needed_bytes=size_bytes):
        store.mkdir(parents=True, exist_ok=True)
        artifacts.require_room(store, size_bytes, promised_bytes=promised_bytes(beside=beside))


def incoming_bytes() -> int:
    """All that is on its way in: announced, sent as a form, given room to be fetched, or here and not checked yet."""
    parts = (
        (Upload.objects.filter(state__in=WAITING_UPLOADS), "size_bytes"),
        (Version.objects.filter(state__in=UNCHECKED).exclude(incoming=""), "size_bytes"),
        (Fetch.objects.all(), "reserved_bytes"),
    )
    announced = sum(_sum(rows, column) for rows, column in parts)
    return announced + artifacts.receiving(selectors.store()).announced_bytes


def promised_bytes(*, beside: Fetch | None = None) -> int:
    """What has still to come of all that is on its way in, and has no place on the disk yet.

    A fetch counts once it was given room and its source said how much there is.
    """
    uploads = Upload.objects.filter(state=UploadState.RECEIVING)
    fetches = Fetch.objects.filter(reserved_bytes__gt=0, size_bytes__gt=F("received_bytes"))
    others = fetches.exclude(pk=beside.pk) if beside else fetches
    forms = artifacts.receiving(selectors.store())
    rows = sum(_sum(rows, F("size_bytes") - F("received_bytes")) for rows in (uploads, others))
    return rows + forms.announced_bytes - forms.written_bytes


def _sum(rows: "QuerySet[Any]", column: "str | CombinedExpression") -> int:
    return int(rows.aggregate(total=Sum(column))["total"] or 0)
