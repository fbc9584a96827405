"""Checking received versions: a worker's work, under a lease, never twice at once."""

import logging
import os
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from apps.audit.services import record
from apps.common.actor import CLOCK
from apps.common.due import is_free
from apps.common.errors import ControlPlaneError
from apps.common.keeping import error_document
from apps.common.transitions import try_move
from apps.registry import artifacts, intake, refusals, selectors
from apps.registry.errors import CheckKeptDying, UploadLost
from apps.registry.intake import Checked, Limits
from apps.registry.models import Artifact, Version
from apps.registry.models import Upload as UploadRow
from apps.registry.services.uploads import upload_time
from apps.registry.states import UploadState, VersionState
from apps.serving.protocol import Signature

log = logging.getLogger(__name__)
PENDING = (VersionState.RECEIVED, VersionState.CHECKING)
# A check is begun once; again only when its worker was lost or broke.
MOST_CHECKS = 5
# The store is full or away: the bytes are fine, so their check waits, a minute at a time.
STORE_WAIT = timedelta(seconds=60)


class _LeaseLost(Exception):
    """Another worker has taken the check over."""


class _Lease:
    """The right to check one version, held by the value in its row; renewed while the work goes on."""

    def __init__(self, version: Version, staging: Path) -> None:
        self._version = version
        self._staging = staging

    def renew(self) -> None:
        """Called often; writes when half the lease is used, and sees to it that the disk does not fill up."""
        now = timezone.now()
        until = self._version.lease_until
        if until is not None and until - now > _lease_time() / 2:
            return
        artifacts.require_room(selectors.store(), 0)
        os.utime(self._staging)
        mine = Version.objects.filter(pk=self._version.pk, state=VersionState.CHECKING, lease_until=until)
        if not mine.update(lease_until=now + _lease_time()):
            raise _LeaseLost
        self._version.lease_until = now + _lease_time()


def check_version(version_id: int, *, now: datetime) -> None:
    """Unpack and check a received version: it becomes `ready`, or `rejected` with its error kept.

    Safe to deliver twice or to two workers: one holds the lease, the other goes home. What is the store's fault
    and not the upload's is kept as its error too, and the check is begun again later.
    """
    version = _claim(version_id, now=now)
    if version is None:
        return
    try:
        has_ended = _check(version)
    except _LeaseLost:
        return
    except refusals.SeveralVersions as error:
        has_ended = _ask(version, error)
    except ControlPlaneError as error:
        has_ended = _put_off(version, error) if error.retryable else _reject(version, error)
    if has_ended:
        artifacts.drop_incoming(selectors.store(), version.incoming)


def _claim(version_id: int, *, now: datetime) -> Version | None:
    until = now + _lease_time()
    due = _due(now).filter(pk=version_id)
    if not due.update(state=VersionState.CHECKING, lease_until=until, checks_begun=F("checks_begun") + 1):
        return None
    return Version.objects.select_related("model", "artifact").get(pk=version_id, lease_until=until)


def _due(now: datetime) -> QuerySet[Version]:
    return Version.objects.filter(is_free(now), state__in=PENDING)


def _lease_time() -> timedelta:
    return timedelta(seconds=settings.CONCH["lease_s"])


def _check(version: Version) -> bool:
    if version.checks_begun > MOST_CHECKS:
        raise CheckKeptDying(f"{version}: {MOST_CHECKS} checks were begun and none came to an end")
    if version.artifact and not version.incoming:
        return _accept(version, _recheck(version, version.artifact))
    store = selectors.store()
    archive = artifacts.incoming(store, version.incoming)
    if not archive.is_file():
        raise UploadLost(f"{version}: the received file is not in {store}")
    allowed = settings.CONCH
    limits = Limits(allowed["max_entries"], allowed["max_unpacked_bytes"], allowed["max_ratio"])
    with artifacts.staging(store) as staging:
        lease = _Lease(version, staging)
        with artifacts.faults(store, doing=f"unpacking {version}", needed_bytes=version.size_bytes):
            checked = intake.check(
                _upload(version, archive),
                staging,
                model=version.model.name,
                number=version.number,
                limits=limits,
                on_progress=lease.renew,
            )
        lease.renew()
        artifacts.seal(checked.directory, selectors.directory_of(checked.address(version.digest)))
        return _accept(version, checked)


def _upload(version: Version, archive: Path) -> intake.Upload:
    """What came, with the configuration of the model's last version for a file that has none."""
    ready = Version.objects.filter(model=version.model, state=VersionState.READY).exclude(config_text="")
    earlier = ready.order_by("-number").values_list("config_text", flat=True).first()
    return intake.Upload(
        archive,
        filename=version.filename,
        version_directory=version.version_directory,
        earlier_config=earlier or "",
    )


def _reject(version: Version, error: ControlPlaneError) -> bool:
    return _finish(version, VersionState.REJECTED, error=error_document(error))


def _ask(version: Version, error: refusals.SeveralVersions) -> bool:
    """Keep the bytes until somebody says which of the versions in them is meant."""
    until = timezone.now() + upload_time()
    _finish(
        version, VersionState.CHOOSING, error=error_document(error), choices=list(error.versions), choose_until=until
    )
    return False


def _put_off(version: Version, error: ControlPlaneError) -> bool:
    """Wait for the store; a check that could not be made is not one that ended its worker."""
    log.warning("%s: the check waits: %s", version, error.message)
    mine = Version.objects.filter(pk=version.pk, state=VersionState.CHECKING, lease_until=version.lease_until)
    mine.update(
        lease_until=timezone.now() + STORE_WAIT,
        checks_begun=F("checks_begun") - 1,
        error=error_document(error),
    )
    return False


def _recheck(version: Version, artifact: Artifact) -> Checked:
    sealed = selectors.artifact_directory(artifact)
    with artifacts.faults(sealed, doing=f"reading {artifact}"):
        return intake.recheck(
            sealed,
            model=version.model.name,
            files=artifact.files,
            unpacked_bytes=artifact.unpacked_bytes,
            remarks=(f"Its bytes were in the store already, as {selectors.versions_of(artifact)[0]}; none were sent.",),
        )


@transaction.atomic
def _accept(version: Version, checked: Checked) -> bool:
    artifact, _ = Artifact.objects.get_or_create(
        digest=checked.address(version.digest),
        defaults={
            "size_bytes": version.size_bytes,
            "unpacked_bytes": checked.unpacked_bytes,
            "files": list(checked.files),
        },
    )
    config = checked.config
    return _finish(
        version,
        VersionState.READY,
        artifact=artifact,
        backend=(config.backend or config.platform)[:128],
        config_text=checked.config_text,
        config=dict(config.document),
        signature=signature_document(config.signature),
        inspection=dict(checked.inspection),
        remarks=list(checked.remarks),
        error={},
        ready_at=timezone.now(),
    )


@transaction.atomic
def _finish(version: Version, state: VersionState, **fields: Any) -> bool:
    """Only who still holds the lease may say how it ended: False when somebody else does now."""
    holder = Version.objects.select_for_update().filter(pk=version.pk, lease_until=version.lease_until)
    if not holder.exists() or not try_move(version, state, lease_until=None, **fields):
        return False
    record(
        CLOCK,
        f"version_{state}",
        subject_kind="version",
        subject=str(version),
        model=version.model.name,
        reason=str(version.error.get("message", "")),
        code=version.error.get("code", ""),
    )
    return True


def signature_document(signature: Signature) -> dict[str, Any]:
    """Inputs, outputs and the batch limit as the version's row keeps them."""
    document = asdict(signature)
    for tensor in (*document["inputs"], *document["outputs"]):
        tensor["shape"] = list(tensor["shape"])
    return {
        "inputs": list(document["inputs"]),
        "outputs": list(document["outputs"]),
        "max_batch_size": document["max_batch_size"],
    }


def due_versions(now: datetime) -> list[int]:
    """Versions whose check was never begun, was put off, or whose worker went silent."""
    return list(_due(now).order_by("pk").values_list("pk", flat=True))


def sweep_store() -> None:
    """Remove old leftovers in the artifact store that no waiting version names; a StoreBroken says why it could not."""
    store = selectors.store()
    waiting = [
        *Version.objects.filter(state__in=(VersionState.FETCHING, VersionState.CHOOSING, *PENDING)).values_list(
            "incoming", flat=True
        ),
        *UploadRow.objects.filter(state=UploadState.RECEIVING).values_list("key", flat=True),
    ]
    with artifacts.faults(store, doing="removing leftovers"):
        artifacts.sweep(store, keep_incoming=set(waiting))
