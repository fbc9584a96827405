"""The bytes of a resumable upload: taken under a lease, kept as far as they came, made a version when all are there."""

import hashlib
import hmac
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from apps.access.services import require
from apps.common.actor import Actor
from apps.common.due import is_free
from apps.common.errors import ControlPlaneError
from apps.common.keeping import error_document
from apps.common.transitions import try_move
from apps.registry import artifacts, growing, selectors
from apps.registry.artifacts import Received
from apps.registry.errors import (
    ChecksumWrong,
    DigestWrong,
    OffsetWrong,
    UploadBroken,
    UploadBusy,
    UploadFailed,
    UploadOverrun,
    VersionNumberTaken,
)
from apps.registry.growing import Growing
from apps.registry.models import Upload
from apps.registry.services import numbering
from apps.registry.services.leases import Lease, LeaseLost
from apps.registry.services.uploads import held_upload, upload_time
from apps.registry.services.versions import Wanted, keep_version
from apps.registry.states import UploadState

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Checksum:
    """What one request's bytes must hash to."""

    algorithm: str
    expected: bytes
    _hash: Any = field(init=False)

    def __post_init__(self) -> None:
        self._hash = hashlib.new(self.algorithm, usedforsecurity=False)

    def update(self, piece: bytes) -> None:
        """Another piece."""
        self._hash.update(piece)

    @property
    def fits(self) -> bool:
        """Whether the bytes so far are what was sent."""
        return hmac.compare_digest(self._hash.digest(), self.expected)


@dataclass(frozen=True, slots=True)
class Sending:
    """One request's share of an upload: from where, how many bytes, and the bytes as they come."""

    offset_bytes: int
    size_bytes: int
    pieces: Iterable[bytes]
    checksum: Checksum | None = None


def append_upload(actor: Actor, key: str, sending: Sending) -> Upload:
    """Take the bytes; as many as came are kept, whatever breaks. The last of them make the version.

    With a checksum all of the request's bytes are kept, or none.
    """
    require(actor, "add_version")
    upload = selectors.get_upload(actor, key)
    _require_fits(upload, sending)
    if upload.state == UploadState.REFUSED:
        raise UploadFailed(f"{upload}: {upload.error.get('message', '')}", reason=upload.error.get("code", ""))
    if upload.state == UploadState.NUMBERING:
        raise numbering.taken_meanwhile(upload)
    if upload.state == UploadState.FINISHED:
        return upload
    with _held(upload, sending.offset_bytes) as lease:
        if sending.size_bytes:
            _receive(upload, sending, lease)
        if upload.received_bytes == upload.size_bytes:
            _finish(upload, lease)
    return upload


def _require_fits(upload: Upload, sending: Sending) -> None:
    if sending.offset_bytes != upload.received_bytes:
        raise OffsetWrong(
            f"{upload} stands at {upload.received_bytes:,} bytes, not at {sending.offset_bytes:,}",
            offset_bytes=upload.received_bytes,
        )
    if sending.offset_bytes + sending.size_bytes > upload.size_bytes:
        raise UploadOverrun(
            f"{upload} was announced with {upload.size_bytes:,} bytes, "
            f"this makes {sending.offset_bytes + sending.size_bytes:,}"
        )


@contextmanager
def _held(upload: Upload, offset_bytes: int) -> Iterator[Lease]:
    """The lease on the upload while it stands at that offset, or UploadBusy."""
    now = timezone.now()
    as_seen = Q(received_bytes=offset_bytes, state=UploadState.RECEIVING)
    lease = Lease.claim(Upload.objects.filter(pk=upload.pk), as_seen, now=now)
    if lease is None:
        raise _taken(upload, f"another request is sending to {upload}")
    try:
        yield lease
        lease.release()
    except LeaseLost as error:
        raise _taken(upload, f"this request was silent for so long that another one may send to {upload}") from error
    except BaseException:
        lease.let_go()
        raise


def _taken(upload: Upload, why: str) -> ControlPlaneError:
    """Why nothing may be sent to it: somebody else does, or it was given up."""
    is_there = Upload.objects.filter(pk=upload.pk).exists()
    return UploadBusy(why) if is_there else selectors.unknown_upload(upload.key)


def _receive(upload: Upload, sending: Sending, lease: Lease) -> None:
    path = artifacts.incoming(selectors.store(), upload.key)
    with (
        artifacts.faults(path.parent, doing=f"receiving {upload}", needed_bytes=sending.size_bytes),
        Growing(path, offset_bytes=sending.offset_bytes) as file,
    ):
        try:
            _write(file, sending, lease)
        except (ControlPlaneError, OSError):
            if sending.checksum:
                file.cut(sending.offset_bytes)
            raise
        finally:
            _save(upload, file, lease)


def _write(file: Growing, sending: Sending, lease: Lease) -> None:
    checksum = sending.checksum
    for piece in artifacts.pieces(sending.pieces):
        file.write(piece)
        if checksum:
            checksum.update(piece)
        if lease.is_due:
            # What a checksum covers counts only once it fits.
            lease.renew(**({} if checksum else {"received_bytes": file.safe_bytes()}))
    came = file.size_bytes - sending.offset_bytes
    if came != sending.size_bytes:
        raise UploadBroken(
            f"{came:,} of {sending.size_bytes:,} bytes came; they are kept",
            hint="Go on from the offset that HEAD tells.",
        )
    if checksum and not checksum.fits:
        raise ChecksumWrong(f"the {came:,} bytes do not have the {checksum.algorithm} that was sent with them")


def _save(upload: Upload, file: Growing, lease: Lease) -> None:
    file.flush()
    lease.renew(received_bytes=file.size_bytes, expires_at=timezone.now() + upload_time())
    upload.received_bytes = file.size_bytes


def due_uploads(now: datetime) -> list[str]:
    """Uploads that are complete and no version yet, because the process that received them died."""
    whole = Upload.objects.filter(is_free(now), state=UploadState.RECEIVING, received_bytes=F("size_bytes"))
    return list(whole.order_by("pk").values_list("key", flat=True))


def finish_upload(key: str) -> None:
    """Make the version of a complete upload; safe to deliver twice. What refuses it is kept with the upload."""
    upload = Upload.objects.select_related("model").filter(key=key, received_bytes=F("size_bytes")).first()
    if upload is None or upload.state != UploadState.RECEIVING:
        return
    try:
        with _held(upload, upload.size_bytes) as lease:
            _finish(upload, lease)
    except ControlPlaneError as error:
        log.warning("%s could not be finished: %s", upload, error.message)


def _finish(upload: Upload, lease: Lease) -> None:
    path = artifacts.incoming(selectors.store(), upload.key)
    try:
        with artifacts.faults(path.parent, doing=f"reading {upload}"):
            digest = growing.digest_of(
                path, size_bytes=upload.size_bytes, on_progress=lambda: lease.renew() if lease.is_due else None
            )
        if upload.sha256 and digest != upload.sha256:
            raise DigestWrong(f"{upload} has the SHA-256 {digest}, announced was {upload.sha256}", field="sha256")
        _make_version(upload, digest)
    except VersionNumberTaken as error:
        raise numbering.keep_unnumbered(upload, digest) from error
    except ControlPlaneError as error:
        if not error.retryable:
            _refuse(upload, error)
        raise


@transaction.atomic
def _make_version(upload: Upload, digest: str) -> None:
    """Once: a second process waits for the row, and finds that it has its version."""
    row = held_upload(upload)
    if row.state == UploadState.RECEIVING:
        received = Received(upload.key, digest, upload.size_bytes)
        version = keep_version(Actor(**upload.actor), upload.model, received, Wanted(**upload.wanted))
        try_move(row, UploadState.FINISHED, version=version)
    upload.state, upload.version = row.state, row.version


def _refuse(upload: Upload, error: ControlPlaneError) -> None:
    """The error stays with the upload until it expires; its bytes go."""
    if try_move(upload, UploadState.REFUSED, error=error_document(error)):
        artifacts.drop_incoming(selectors.store(), upload.key)
