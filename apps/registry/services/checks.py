"""Checking received versions: a worker's work, under a lease, never twice at once."""

import logging
import os
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
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
from apps.registry.services.leases import MOST_TRIES, Lease, LeaseLost
from apps.registry.services.uploads import upload_time
from apps.registry.states import VersionState
from apps.serving.protocol import Signature

log = logging.getLogger(__name__)
PENDING = (VersionState.RECEIVED, VersionState.CHECKING)
# The store is full or away: the bytes are fine, so their check waits, a minute at a time.
STORE_WAIT = timedelta(seconds=60)


def check_version(version_id: int, *, now: datetime) -> None:
    """Unpack and check a received version: it becomes `ready`, or `rejected` with its error kept.

    Safe to deliver twice or to two workers: one holds the lease, the other goes home. What is the store's fault
    and not the upload's is kept as its error too, and the check is begun again later.
    """
    found = _claim(version_id, now=now)
    if found is None:
        return
    version, lease = found
    try:
        has_ended = _settle(version, lease)
    except LeaseLost:
        return
    if has_ended:
        artifacts.drop_incoming(selectors.store(), version.incoming)


def _settle(version: Version, lease: Lease) -> bool:
    """Whether the check has ended, well or not, and its bytes are needed no longer."""
    try:
        return _check(version, lease)
    except refusals.SeveralVersions as error:
        return _ask(version, lease, error)
    except ControlPlaneError as error:
        return _put_off(version, lease, error) if error.retryable else _reject(version, lease, error)


def _claim(version_id: int, *, now: datetime) -> tuple[Version, Lease] | None:
    rows = Version.objects.filter(pk=version_id)
    pending = Q(state__in=PENDING)
    lease = Lease.claim(rows, pending, now=now, counting="checks_begun", state=VersionState.CHECKING)
    return (rows.select_related("model", "artifact").get(), lease) if lease else None


def _check(version: Version, lease: Lease) -> bool:
    if lease.is_worn_out:
        raise CheckKeptDying(f"{version}: {MOST_TRIES} checks were begun and none came to an end")
    if version.artifact and not version.incoming:
        return _accept(version, lease, _recheck(version, version.artifact))
    store = selectors.store()
    archive = artifacts.incoming(store, version.incoming)
    if not archive.is_file():
        raise UploadLost(f"{version}: the received file is not in {store}")
    with artifacts.staging(store) as staging:
        with artifacts.faults(store, doing=f"unpacking {version}", needed_bytes=version.size_bytes):
            checked = intake.check(
                _upload(version, archive),
                staging,
                model=version.model.name,
                number=version.number,
                limits=_limits(),
                on_progress=lambda: _hold_on(lease, staging),
            )
        lease.renew()
        artifacts.seal(checked.directory, selectors.directory_of(checked.address(version.digest)))
        return _accept(version, lease, checked)


def _limits() -> Limits:
    allowed = settings.CONCH
    return Limits(allowed["max_entries"], allowed["max_unpacked_bytes"], allowed["max_ratio"])


def _hold_on(lease: Lease, staging: Path) -> None:
    """Called often: renews the lease in time, and sees to it that the disk does not fill up."""
    if lease.is_due:
        artifacts.require_room(selectors.store(), 0)
        os.utime(staging)
        lease.renew()


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


def _reject(version: Version, lease: Lease, error: ControlPlaneError) -> bool:
    return _finish(version, lease, VersionState.REJECTED, error=error_document(error))


def _ask(version: Version, lease: Lease, error: refusals.SeveralVersions) -> bool:
    """Keep the bytes until somebody says which of the versions in them is meant."""
    until = timezone.now() + upload_time()
    choices = list(error.versions)
    _finish(version, lease, VersionState.CHOOSING, error=error_document(error), choices=choices, choose_until=until)
    return False


def _put_off(version: Version, lease: Lease, error: ControlPlaneError) -> bool:
    """Wait for the store; a check that could not be made is not one that ended its worker."""
    log.warning("%s: the check waits: %s", version, error.message)
    lease.release(again_at=timezone.now() + STORE_WAIT, error=error_document(error))
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
def _accept(version: Version, lease: Lease, checked: Checked) -> bool:
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
        lease,
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
def _finish(version: Version, lease: Lease, state: VersionState, **fields: Any) -> bool:
    """Only who still holds the lease may say how it ended: LeaseLost when somebody else does now."""
    lease.renew()
    if not try_move(version, state, lease_until=None, **fields):
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
    due = Version.objects.filter(is_free(now), state__in=PENDING)
    return list(due.order_by("pk").values_list("pk", flat=True))
