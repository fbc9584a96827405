"""Resumable uploads: begun once, sent in as many requests as it takes, finished once."""

import re
import secrets
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.common.text import printable
from apps.registry import artifacts, selectors
from apps.registry.artifacts import Received
from apps.registry.errors import ArtifactUnknown, FieldInvalid, UploadEmpty
from apps.registry.models import Artifact, Model, Upload, Version
from apps.registry.services.limits import place_for, require_small
from apps.registry.services.versions import Wanted, keep_version
from apps.registry.states import UploadState

_SHA256 = re.compile(r"[0-9a-f]{64}")
FINGERPRINT_CHARS = 128


@dataclass(frozen=True, slots=True)
class Announced:
    """What the sender says of the bytes before it sends them; `sha256` and `fingerprint` may be empty.

    `fingerprint` is the sender's own mark, by which it finds an upload again that broke off.
    """

    size_bytes: int
    sha256: str = ""
    fingerprint: str = ""

    def check(self) -> None:
        """UploadEmpty or FieldInvalid."""
        if self.size_bytes <= 0:
            raise UploadEmpty("the upload has no bytes", field="file")
        check_sha256(self.sha256)
        if len(self.fingerprint) > FINGERPRINT_CHARS or printable(self.fingerprint) != self.fingerprint:
            raise FieldInvalid(f"fingerprint has more than {FINGERPRINT_CHARS} characters", field="fingerprint")


def check_sha256(text: str) -> None:
    """FieldInvalid unless it is empty or a SHA-256."""
    if text and not _SHA256.fullmatch(text):
        raise FieldInvalid("sha256 is not 64 hexadecimal digits in lower case", field="sha256")


def begin_upload(
    actor: Actor, *, model: str, announced: Announced, wanted: Wanted, may_skip_bytes: bool = False
) -> Upload:
    """A place for bytes that will come; with `may_skip_bytes` one that is complete when their SHA-256 is known."""
    require(actor, "add_version")
    owner = selectors.get_model(model)
    announced.check()
    wanted.check(owner)
    require_small(actor, announced.size_bytes)
    if may_skip_bytes and not wanted.version_directory and _is_known(announced):
        return _finished_at_once(actor, owner, announced, wanted)
    upload = upload_row(actor, owner, announced, wanted)
    # Before its row: a file without one is swept, a row without one could take no bytes.
    artifacts.make_incoming(selectors.store(), upload.key)
    try:
        with place_for(actor, announced.size_bytes):
            upload.save(force_insert=True)
    except BaseException:
        artifacts.drop_incoming(selectors.store(), upload.key)
        raise
    return upload


def _is_known(announced: Announced) -> bool:
    artifact = selectors.find_artifact(announced.sha256)
    return artifact is not None and artifact.size_bytes == announced.size_bytes


def upload_row(actor: Actor, model: Model, announced: Announced, wanted: Wanted, **more: Any) -> Upload:
    """A new upload, not saved yet."""
    return Upload(
        model=model,
        owner=actor.identity,
        actor=asdict(replace(actor, scopes=None)),
        wanted=asdict(wanted),
        expires_at=timezone.now() + upload_time(),
        **asdict(announced),
        **({"key": secrets.token_hex(16)} | more),
    )


def upload_time() -> timedelta:
    """How long an unfinished upload is kept after its last byte."""
    return timedelta(seconds=settings.CONCH["upload_expires_s"])


@transaction.atomic
def _finished_at_once(actor: Actor, owner: Model, announced: Announced, wanted: Wanted) -> Upload:
    version = add_known_version(actor, model=owner.name, sha256=announced.sha256, wanted=wanted)
    upload = upload_row(
        actor,
        owner,
        announced,
        wanted,
        received_bytes=announced.size_bytes,
        state=UploadState.FINISHED,
        version=version,
    )
    upload.save(force_insert=True)
    return upload


@transaction.atomic
def add_known_version(actor: Actor, *, model: str, sha256: str, wanted: Wanted) -> Version:
    """A version of bytes that are in the store already, checked once for another version; ArtifactUnknown otherwise."""
    require(actor, "add_version")
    require(actor, "view")
    owner = selectors.get_model(model)
    check_sha256(sha256)
    wanted.check(owner)
    if wanted.version_directory:
        raise FieldInvalid("known bytes are one version: there is no directory to name", field="version_directory")
    # Held, so that nothing that tidies the store takes it away before the version has it.
    artifact = Artifact.objects.select_for_update().filter(digest=sha256).first()
    if artifact is None:
        raise ArtifactUnknown(f"no artifact has the SHA-256 {sha256}", field="from")
    return keep_version(actor, owner, Received("", sha256, artifact.size_bytes), wanted, artifact=artifact)


def discard_upload(actor: Actor, key: str) -> None:
    """End an unfinished upload and drop its bytes; of a finished one only its address goes."""
    found = selectors.get_upload(actor, key)
    with transaction.atomic():
        upload = held_upload(found)
        record(
            actor,
            "discard_upload",
            subject_kind="upload",
            subject=upload.key[:8],
            model=upload.model.name,
            received_bytes=upload.received_bytes,
        )
        Upload.objects.filter(pk=upload.pk).delete()
    _drop_bytes(upload)


def held_upload(found: Upload) -> Upload:
    """The upload as it stands now, held until the transaction ends; UploadUnknown when it went away meanwhile."""
    rows = Upload.objects.select_for_update(of=("self",)).select_related("model")
    upload = rows.filter(pk=found.pk).first()
    if upload is None:
        raise selectors.unknown_upload(found.key)
    return upload


def _drop_bytes(upload: Upload) -> None:
    """After the row is gone: a request that still sends finds none. Those of a finished upload are its version's."""
    if upload.state != UploadState.FINISHED:
        artifacts.drop_incoming(selectors.store(), upload.key)


def sweep_uploads(now: datetime) -> int:
    """Drop uploads whose time is up; how many."""
    expired = selectors.expired_uploads(now)
    for upload in expired:
        as_seen = Upload.objects.filter(pk=upload.pk, state=upload.state, expires_at=upload.expires_at)
        if as_seen.delete()[0]:
            _drop_bytes(upload)
    return len(expired)
