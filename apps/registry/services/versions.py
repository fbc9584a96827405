"""Receiving versions."""

import re
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.access.idempotency import KEPT_FOR
from apps.audit.services import record
from apps.common.actor import Actor
from apps.common.dispatch import wake
from apps.common.names import MAX_VERSION
from apps.common.text import printable
from apps.registry import selectors
from apps.registry.artifacts import Received
from apps.registry.errors import FieldInvalid, NumberInvalid, VersionNumberTaken
from apps.registry.models import Model, Version
from apps.registry.states import VersionState

CHECK = "conch.check_version"
NOTES_CHARS, FILENAME_CHARS = 10_000, 255
_DIRECTORY = re.compile(r"[1-9][0-9]{0,18}")
_COMMIT = re.compile(r"[0-9A-Za-z._/-]{0,64}")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a version shall be called and say of itself, whatever way its bytes come in."""

    number: int | None = None
    git_commit: str = ""
    notes: str = ""
    filename: str = ""
    request_key: str = ""
    version_directory: str = ""

    def check(self, model: Model) -> None:
        """FieldInvalid, NumberInvalid or VersionNumberTaken before a byte has come."""
        if not _COMMIT.fullmatch(self.git_commit):
            raise FieldInvalid("git_commit is not the name of a commit of at most 64 characters", field="git_commit")
        if len(self.notes) > NOTES_CHARS:
            raise FieldInvalid(f"notes has more than {NOTES_CHARS:,} characters", field="notes")
        if self.version_directory and not _DIRECTORY.fullmatch(self.version_directory):
            raise FieldInvalid(
                f"version_directory {printable(self.version_directory, limit=40)!r} is no version's number",
                field="version_directory",
            )
        if self.number is not None:
            _check_number(model, self.number)

    @property
    def fields(self) -> dict[str, Any]:
        """As the version's row keeps them."""
        return {
            "filename": printable(self.filename)[:FILENAME_CHARS],
            "git_commit": self.git_commit,
            "notes": printable(self.notes),
            "request_key": self.request_key,
            "version_directory": self.version_directory,
        }


def made_before(model: Model, request_key: str) -> Version | None:
    """The version that this very request has made, when it died before it could answer."""
    if not request_key:
        return None
    since = timezone.now() - KEPT_FOR
    return Version.objects.filter(model=model, request_key=request_key, created_at__gte=since).first()


@transaction.atomic
def keep_version(actor: Actor, owner: Model, received: Received, wanted: Wanted, **more: Any) -> Version:
    """The row of a version whose bytes are in the store; its check is woken.

    `received` without a name are bytes that were sealed before: the artifact is among `more`.
    """
    model = Model.objects.select_for_update().get(pk=owner.pk)
    if made := made_before(model, wanted.request_key):
        return made
    version = make_row(
        actor,
        model,
        wanted,
        incoming=received.name,
        digest=received.digest,
        size_bytes=received.size_bytes,
        **more,
    )
    record(
        actor,
        "add_version",
        subject_kind="version",
        subject=str(version),
        model=model.name,
        digest=received.digest,
        size_bytes=received.size_bytes,
        git_commit=wanted.git_commit,
    )
    wake(CHECK, version_id=version.pk)
    return version


def make_row(actor: Actor, model: Model, wanted: Wanted, **more: Any) -> Version:
    """The version's row under the number that was asked for, else the next; `model` is locked by the caller."""
    number = selectors.next_number(model) if wanted.number is None else wanted.number
    _check_number(model, number)
    try:
        with transaction.atomic():
            return Version.objects.create(model=model, number=number, created_by=actor.name, **wanted.fields, **more)
    except IntegrityError as error:
        raise _taken(model, number) from error


def _check_number(model: Model, number: int) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MAX_VERSION:
        raise NumberInvalid(f"{printable(str(number), limit=40)} is not a version number", field="number")
    if Version.objects.filter(model=model, number=number).exclude(state=VersionState.REJECTED).exists():
        raise _taken(model, number)


def _taken(model: Model, number: int) -> VersionNumberTaken:
    return VersionNumberTaken(f"model {model.name!r} has a version {number} already", field="number")
