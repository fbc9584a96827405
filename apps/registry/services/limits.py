"""How much may come in: of one upload by who sends it, of one sender, and in all."""

from django.conf import settings
from django.db.models import Sum

from apps.access import services as access
from apps.common.actor import Actor
from apps.registry import artifacts, selectors
from apps.registry.errors import IncomingFull, TooManyUploads, UploadTooLarge
from apps.registry.models import Fetch, Upload, Version
from apps.registry.states import WAITING_UPLOADS, VersionState

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


def require_place(actor: Actor, size_bytes: int) -> None:
    """TooManyUploads or IncomingFull when another unfinished upload of that size is one too many."""
    unfinished = Upload.objects.filter(state__in=WAITING_UPLOADS)
    most = int(settings.CONCH["max_unfinished_uploads"])
    if unfinished.filter(owner=actor.identity).count() >= most:
        raise TooManyUploads(f"{actor.name} has {most} unfinished uploads", limit=most)
    require_room(size_bytes)


def require_room(size_bytes: int) -> None:
    """IncomingFull when so many bytes are too much beside all that is on its way in, by whatever door."""
    taken = incoming_bytes()
    room = int(settings.CONCH["max_incoming_bytes"]) - taken
    if size_bytes > room:
        raise IncomingFull(
            f"{size_bytes:,} bytes more are too much: {taken:,} are on their way in already", room_bytes=room
        )


def incoming_bytes() -> int:
    """All that is on its way in: announced, sent as a form, given room to be fetched, or here and not checked yet."""
    parts = (
        (Upload.objects.filter(state__in=WAITING_UPLOADS), "size_bytes"),
        (Version.objects.filter(state__in=UNCHECKED).exclude(incoming=""), "size_bytes"),
        (Fetch.objects.all(), "reserved_bytes"),
    )
    announced = sum(rows.aggregate(total=Sum(column))["total"] or 0 for rows, column in parts)
    return announced + artifacts.receiving_bytes(selectors.store())
