"""What was live when: a row for every move of a placement's pointers, in the transaction that moves them."""

from datetime import datetime

from apps.common.actor import CLOCK
from apps.deployments.models import Placement, PlacementChange, Rollout
from apps.registry.models import Version

BEGUN, DONE, PUT_BACK = "begun", "done", "put_back"


def keep_begun(rollout: Rollout, *, now: datetime) -> None:
    """A promotion is about to change its first server: from here on two versions are live."""
    placement = Placement.objects.select_related("active", "standby").get(pk=rollout.placement_id)
    standing = {"active": placement.active, "standby": placement.standby, "coming": rollout.to_version}
    _keep(rollout, BEGUN, rollout.from_overlay_id, now=now, **standing)


def has_begun(rollout: Rollout) -> bool:
    """Whether it has changed a server, or is about to."""
    return PlacementChange.objects.filter(rollout=rollout, what=BEGUN).exists()


def keep_done(rollout: Rollout, *, standby: Version | None, now: datetime) -> None:
    """What the rollout brought is what is live."""
    _keep(rollout, DONE, rollout.to_overlay_id, now=now, active=rollout.to_version, standby=standby)


def keep_put_back(rollout: Rollout, *, now: datetime) -> None:
    """What was live before is live again everywhere."""
    if has_begun(rollout):
        _keep(rollout, PUT_BACK, rollout.from_overlay_id, now=now, active=rollout.from_version)


def _keep(rollout: Rollout, what: str, overlay_id: int | None, *, now: datetime, **versions: Version | None) -> None:
    """Once, however often it is asked for; put back by whoever turned it round, else by Conch itself."""
    who = {"actor": rollout.actor, "actor_kind": rollout.actor_kind, "reason": rollout.reason}
    if what == PUT_BACK:
        by = (rollout.turned_by, rollout.turned_by_kind) if rollout.turned_by else (CLOCK.name, CLOCK.kind)
        who = {"actor": by[0], "actor_kind": by[1], "reason": _why(rollout)}
    PlacementChange.objects.get_or_create(
        rollout=rollout,
        what=what,
        defaults={
            "placement_id": rollout.placement_id,
            "at": now,
            # What was not live had no configuration.
            "overlay_id": overlay_id if versions.get("active") else None,
            **who,
            **versions,
        },
    )


def _why(rollout: Rollout) -> str:
    return rollout.turned_because or str(rollout.error.get("message", ""))
