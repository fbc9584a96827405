"""Uploads whose number was taken while their bytes came: the bytes wait until somebody gives them another one."""

from django.db import transaction
from django.utils import timezone

from apps.access.services import require
from apps.common.actor import Actor
from apps.common.keeping import error_document
from apps.common.transitions import try_move
from apps.registry import selectors
from apps.registry.artifacts import Received
from apps.registry.errors import NothingToNumber, NumberTakenMeanwhile
from apps.registry.models import Model, Upload, Version
from apps.registry.services.uploads import Announced, held_upload, upload_row, upload_time
from apps.registry.services.versions import Wanted, keep_version
from apps.registry.states import UploadState


def number_upload(actor: Actor, key: str, *, number: int | None) -> Version:
    """The version of an upload that waits for a number; None is the next one."""
    require(actor, "add_version")
    found = selectors.get_upload(actor, key)
    with transaction.atomic():
        upload = held_upload(found)
        require_numbering(upload)
        received = Received(upload.key, upload.digest, upload.size_bytes)
        wanted = Wanted(**{**upload.wanted, "number": number})
        version = keep_version(actor, upload.model, received, wanted)
        try_move(upload, UploadState.FINISHED, version=version, wanted={**upload.wanted, "number": number}, error={})
    return version


def require_numbering(upload: Upload) -> None:
    """NothingToNumber unless the upload waits for a number."""
    if upload.state != UploadState.NUMBERING:
        raise NothingToNumber(f"{upload} is {upload.state}: it waits for no number", state=upload.state)


def keep_unnumbered(upload: Upload, digest: str) -> NumberTakenMeanwhile:
    """Keep a whole upload until it has a number; the error to raise. UploadUnknown where it was given up meanwhile."""
    until = timezone.now() + upload_time()
    error = taken_meanwhile(upload)
    kept = try_move(upload, UploadState.NUMBERING, digest=digest, error=error_document(error), expires_at=until)
    # Another process may have kept it so: this one was silent for so long that its lease ran out.
    if not kept and not Upload.objects.filter(pk=upload.pk).exists():
        raise selectors.unknown_upload(upload.key)
    return error


def keep_received(actor: Actor, model: Model, received: Received, wanted: Wanted) -> NumberTakenMeanwhile:
    """The same for bytes that came in one request: an upload that has all of them."""
    announced = Announced(received.size_bytes)
    upload = upload_row(
        actor,
        model,
        announced,
        wanted,
        key=received.name,
        state=UploadState.NUMBERING,
        received_bytes=received.size_bytes,
        digest=received.digest,
    )
    error = taken_meanwhile(upload)
    upload.error = error_document(error)
    upload.save(force_insert=True)
    return error


def taken_meanwhile(upload: Upload) -> NumberTakenMeanwhile:
    """What to tell whoever sent it."""
    return NumberTakenMeanwhile(
        f"model {upload.model.name!r} has a version {upload.wanted['number']} by now; the {upload.size_bytes:,} bytes "
        f"that came are kept as upload {upload.key}",
        field="number",
        upload=upload.key,
    )
