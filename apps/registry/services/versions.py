"""Receiving versions."""

import re

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.access.idempotency import KEPT_FOR
from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.common.dispatch import wake
from apps.common.names import MAX_VERSION
from apps.common.text import printable
from apps.registry import artifacts, selectors
from apps.registry.artifacts import Received, Upload
from apps.registry.errors import FieldInvalid, NumberInvalid, VersionNumberTaken
from apps.registry.models import Model, Version
from apps.registry.states import VersionState

CHECK = "conch.check_version"
NOTES_CHARS, FILENAME_CHARS = 10_000, 255
_COMMIT = re.compile(r"[0-9A-Za-z._/-]{0,64}")


def add_version(
    actor: Actor,
    *,
    model: str,
    upload: Upload,
    number: int | None = None,
    git_commit: str = "",
    notes: str = "",
    request_key: str = "",
) -> Version:
    """Receive a version's bytes; a worker checks them, and the version becomes `ready` or `rejected`.

    The bytes are streamed before any transaction is opened; if the row cannot be made they go again. The same
    request sent again, told by its `request_key`, gets the version it made.
    """
    require(actor, "add_version")
    owner = selectors.get_model(model)
    if made := _made_before(owner, request_key):
        return made
    _check_texts(git_commit=git_commit, notes=notes)
    if number is not None:
        _check_number(owner, number)
    received = artifacts.receive(selectors.store(), upload, limit_bytes=settings.CONCH["max_upload_bytes"])
    fields = {
        "filename": printable(upload.filename)[:FILENAME_CHARS],
        "git_commit": git_commit,
        "notes": printable(notes),
        "created_by": actor.name,
        "request_key": request_key,
    }
    try:
        version = _keep(actor, owner, received, number, fields)
    except BaseException:
        artifacts.drop_incoming(selectors.store(), received.name)
        raise
    if version.incoming != received.name:
        artifacts.drop_incoming(selectors.store(), received.name)
    return version


def _made_before(model: Model, request_key: str) -> Version | None:
    """The version that this very request has made, when it died before it could answer."""
    if not request_key:
        return None
    since = timezone.now() - KEPT_FOR
    return Version.objects.filter(model=model, request_key=request_key, created_at__gte=since).first()


@transaction.atomic
def _keep(actor: Actor, owner: Model, received: Received, number: int | None, fields: dict[str, str]) -> Version:
    model = Model.objects.select_for_update().get(pk=owner.pk)
    if made := _made_before(model, fields["request_key"]):
        return made
    chosen = selectors.next_number(model) if number is None else number
    _check_number(model, chosen)
    try:
        with transaction.atomic():
            version = Version.objects.create(
                model=model,
                number=chosen,
                incoming=received.name,
                digest=received.digest,
                size_bytes=received.size_bytes,
                **fields,
            )
    except IntegrityError as error:
        raise _taken(model, chosen) from error
    record(
        actor,
        "add_version",
        subject_kind="version",
        subject=str(version),
        model=model.name,
        digest=received.digest,
        size_bytes=received.size_bytes,
        git_commit=fields["git_commit"],
    )
    wake(CHECK, version_id=version.pk)
    return version


def _check_number(model: Model, number: int) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MAX_VERSION:
        raise NumberInvalid(f"{printable(str(number), limit=40)} is not a version number", field="number")
    if Version.objects.filter(model=model, number=number).exclude(state=VersionState.REJECTED).exists():
        raise _taken(model, number)


def _taken(model: Model, number: int) -> VersionNumberTaken:
    return VersionNumberTaken(f"model {model.name!r} has a version {number} already", field="number")


def _check_texts(*, git_commit: str, notes: str) -> None:
    if not _COMMIT.fullmatch(git_commit):
        raise FieldInvalid("git_commit is not the name of a commit of at most 64 characters", field="git_commit")
    if len(notes) > NOTES_CHARS:
        raise FieldInvalid(f"notes has more than {NOTES_CHARS:,} characters", field="notes")
