"""Uploads that hold several versions: somebody says which one is meant, and no byte is sent again."""

from datetime import datetime

from django.db import transaction

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import CLOCK, Actor
from apps.common.dispatch import wake
from apps.common.keeping import error_document
from apps.common.text import printable
from apps.common.transitions import try_move
from apps.registry import artifacts, selectors
from apps.registry.errors import FieldInvalid, NeverChosen, NothingToChoose
from apps.registry.models import Version
from apps.registry.services.versions import CHECK
from apps.registry.states import VersionState


def choose_version(actor: Actor, *, model: str, number: int, version_directory: str) -> Version:
    """Say which of the versions in the upload is meant; its check goes on with that one."""
    require(actor, "add_version")
    found = selectors.get_version(model, number)
    with transaction.atomic():
        version = Version.objects.select_for_update().get(pk=found.pk)
        _require_choice(version, version_directory)
        try_move(
            version,
            VersionState.RECEIVED,
            version_directory=version_directory,
            choices=[],
            choose_until=None,
            error={},
            checks_begun=0,
        )
        record(
            actor,
            "choose_version",
            subject_kind="version",
            subject=str(version),
            model=model,
            version_directory=version_directory,
        )
        wake(CHECK, version_id=version.pk)
    return selectors.get_version(model, number)


def require_choosing(version: Version) -> None:
    """NothingToChoose unless the version waits to be told."""
    if version.state != VersionState.CHOOSING:
        chosen = f", {version.version_directory} was chosen" if version.version_directory else ""
        raise NothingToChoose(f"{version} is {version.state}{chosen}: there is nothing to choose", state=version.state)


def _require_choice(version: Version, version_directory: str) -> None:
    require_choosing(version)
    if version_directory not in version.choices:
        raise FieldInvalid(
            f"{version} has no version directory {printable(version_directory, limit=40)!r} in its upload",
            field="version_directory",
            hint=f"Choose one of {', '.join(version.choices[-10:])}.",
        )


def forget_unchosen(now: datetime) -> int:
    """Reject versions of which nobody said in time which one is meant, and drop their bytes; how many."""
    late = Version.objects.filter(state=VersionState.CHOOSING, choose_until__lte=now)
    forgotten = [version for key in late.values_list("pk", flat=True) if (version := _forget(key))]
    for version in forgotten:
        artifacts.drop_incoming(selectors.store(), version.incoming)
    return len(forgotten)


@transaction.atomic
def _forget(version_id: int) -> Version | None:
    """None when it was chosen this moment."""
    rows = Version.objects.select_for_update(of=("self",)).select_related("model")
    version = rows.filter(pk=version_id, state=VersionState.CHOOSING).first()
    if version is None:
        return None
    error = NeverChosen(
        f"{version} was kept until {version.choose_until:%Y-%m-%d %H:%M} UTC, and nobody said which of the "
        f"{len(version.choices)} versions in it is meant"
    )
    try_move(version, VersionState.REJECTED, error=error_document(error), choices=[], choose_until=None)
    record(
        CLOCK,
        "version_rejected",
        subject_kind="version",
        subject=str(version),
        model=version.model.name,
        reason=error.message,
        code=error.code,
    )
    return version
