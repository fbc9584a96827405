"""Retention: older versions lose their bytes, never their history, and only while nothing holds them."""

import logging
from datetime import datetime

from django.db import transaction

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import CLOCK, Actor
from apps.common.dispatch import wake
from apps.common.transitions import move, try_move
from apps.deployments.errors import VersionInUse, VersionNotArchived
from apps.deployments.selectors.retention import Judged, holders, keep_of, retention
from apps.registry import selectors as registry_selectors
from apps.registry import services as registry
from apps.registry.models import Version
from apps.registry.states import VersionState

log = logging.getLogger(__name__)
TIDY = "conch.tidy"


def apply_retention(now: datetime) -> int:
    """Remove what the dry run shows; each version is judged again under its lock. Returns how many went."""
    gone = sum(_remove(judged, now=now) for judged in retention().goes)
    registry.sweep_artifacts()
    return gone


def remove_version_bytes(actor: Actor, *, model: str, version: int, reason: str = "") -> Version:
    """Let go of an archived version's bytes, which nothing may hold; never undone, though its history stays.

    The clock's tidying takes them away, here and in repositories, and is woken.
    """
    require(actor, "remove_version_bytes")
    found = registry_selectors.get_version(model, version)
    with transaction.atomic():
        chosen = Version.objects.select_for_update(of=("self",)).select_related("model").get(pk=found.pk)
        require_removable(chosen)
        move(chosen, VersionState.REMOVED, artifact=None)
        record(
            actor,
            "remove_version_bytes",
            subject_kind="version",
            subject=str(chosen),
            model=model,
            reason=reason,
            digest=chosen.digest,
        )
        wake(TIDY)
    return chosen


def require_removable(version: Version) -> None:
    """VersionNotArchived or VersionInUse unless the version's bytes may go."""
    if version.state != VersionState.ARCHIVED:
        raise VersionNotArchived(f"{version} is {version.state}, not archived", state=version.state)
    held_by = holders([version]).get(version.pk)
    if held_by:
        raise VersionInUse(f"{version} is held by {', '.join(held_by)}", held_by=held_by)


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
