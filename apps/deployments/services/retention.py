"""Retention: older versions lose their bytes, never their history, and only while nothing holds them."""

import logging
from datetime import datetime

from django.db import transaction

from apps.audit.services import record
from apps.common.actor import CLOCK
from apps.common.transitions import try_move
from apps.deployments.selectors.retention import Judged, holders, keep_of, retention
from apps.registry import services as registry
from apps.registry.models import Version
from apps.registry.states import VersionState

log = logging.getLogger(__name__)


def apply_retention(now: datetime) -> int:
    """Remove what the dry run shows; each version is judged again under its lock. Returns how many went."""
    gone = sum(_remove(judged, now=now) for judged in retention().goes)
    registry.sweep_artifacts()
    return gone


def _remove(judged: Judged, *, now: datetime) -> bool:
    """One version in one transaction: whoever begins to need it waits for the lock, and then sees that it is gone."""
    with transaction.atomic():
        version = Version.objects.select_for_update(of=("self",)).select_related("model").get(pk=judged.version.pk)
        held_by = holders([version]).get(version.pk)
        if held_by or not try_move(version, VersionState.REMOVED, artifact=None):
            return False
        record(
            CLOCK,
            "remove_version_bytes",
            subject_kind="version",
            subject=str(version),
            model=version.model.name,
            reason=f"older than the newest {keep_of(version.model)}, and nothing holds it",
            digest=version.digest,
            at=now.isoformat(),
        )
    log.info("%s: its bytes are no longer kept", version)
    return True
