"""Banning what was rolled back, and lifting the ban."""

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.deployments.errors import BanLifted, ReasonMissing, VersionBanned
from apps.deployments.models import Ban, Placement, Rollout
from apps.deployments.selectors.bans import ban_on, get_ban, identity, left_unbanned
from apps.registry.models import Version


def ban_version(
    actor: Actor, placement: Placement, version: Version, *, reason: str, rollout: Rollout, now: datetime
) -> Ban:
    """Keep a version from going live there again; in the caller's transaction, and once while it is in force."""
    made, is_new = Ban.objects.get_or_create(
        placement=placement,
        **identity(version),
        lifted_at=None,
        defaults={
            "version": version,
            "rollout": rollout,
            "reason": reason,
            "actor": actor.name,
            "actor_kind": actor.kind,
            "at": now,
        },
    )
    if is_new:
        _record(actor, "ban_version", made, reason=reason)
    return made


def ban_afterwards(actor: Actor, rollback: Rollout, *, reason: str) -> Ban | None:
    """A rollback is asked for once more, now with a ban: what it took away is banned; None where nothing is left to."""
    with transaction.atomic():
        # Of two who ask at once, the second finds the ban of the first.
        placement = Placement.objects.select_for_update().get(pk=rollback.placement_id)
        bad = left_unbanned(rollback)
        if bad is None:
            return None
        return ban_version(actor, placement, bad, reason=reason, rollout=rollback, now=timezone.now())


def lift_ban(actor: Actor, *, ban: int, reason: str) -> Ban:
    """Let a version go live there again."""
    found = get_ban(ban)
    require(actor, "lift_ban", found.placement.environment.name)
    if not reason.strip():
        raise ReasonMissing(f"lifting the {found} needs a reason", field="reason")
    lifted = {"lifted_at": timezone.now(), "lifted_by": actor.name, "lift_reason": reason}
    with transaction.atomic():
        if not Ban.objects.filter(pk=found.pk, lifted_at=None).update(**lifted):
            raise BanLifted(f"the {found} is not in force: {found.lifted_by or 'somebody'} has lifted it")
        _record(actor, "lift_ban", found, reason=reason)
    return get_ban(ban)


def refuse_banned(placement: Placement, version: Version) -> None:
    """VersionBanned, with who banned it and why."""
    ban = ban_on(placement, version)
    if ban is not None:
        since = f"{ban.at:%Y-%m-%d %H:%M} UTC"
        raise VersionBanned(
            f"{version} is banned in {placement.environment} by {ban.actor} since {since}: {ban.reason}",
            ban=ban.pk,
            actor=ban.actor,
            why=ban.reason,
        )


def _record(actor: Actor, verb: str, ban: Ban, *, reason: str) -> None:
    placement = ban.placement
    record(
        actor,
        verb,
        subject_kind="version",
        subject=str(ban.version),
        environment=placement.environment.name,
        model=placement.model.name,
        reason=reason,
        ban=ban.pk,
        artifact_digest=ban.artifact_digest,
        config_digest=ban.config_digest,
    )
