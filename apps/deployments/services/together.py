"""How the rollouts of a release hold together: one decision, taken once, that each of them follows by itself.

A rollout never moves another one: it decides for the release and wakes the others, so no two wait for each other.
"""

from datetime import datetime
from typing import Any

from apps.common.dispatch import wake
from apps.common.keeping import error_document
from apps.deployments.errors import ReleaseDecided, ReleaseTurnedBack
from apps.deployments.models import Release, Rollout
from apps.deployments.selectors.releases import BACK, GO, are_all_through
from apps.deployments.states import ACTIVE_ROLLOUT, RolloutKind, RolloutState


def may_finish(rollout: Rollout, *, now: datetime) -> bool:
    """Whether a rollout whose servers have all passed may move its pointers: in a release, once all have."""
    if not is_part(rollout):
        return True
    if Release.objects.filter(pk=_id(rollout), decision=GO).exists():
        return True
    if rollout.through_at is None:
        Rollout.objects.filter(pk=rollout.pk).update(through_at=now)
        rollout.through_at = now
    return are_all_through(_id(rollout)) and _decide(rollout, GO, {}, now=now)


def must_go_back(rollout: Rollout) -> dict[str, Any] | None:
    """Why this rollout has to turn round: another of its release has; None where it need not, or does already."""
    if not is_part(rollout) or rollout.state == RolloutState.REVERTING:
        return None
    release = Release.objects.filter(pk=_id(rollout), decision=BACK).first()
    if release is None:
        return None
    told = ReleaseTurnedBack(f"{release} went back: {release.error.get('message', 'another rollout was stopped')}")
    return error_document(told)


def take_release_back(rollout: Rollout, error: dict[str, Any], *, now: datetime) -> None:
    """This rollout turns round, so all of its release do; ReleaseDecided when all have passed already."""
    if not is_part(rollout) or _decide(rollout, BACK, error, now=now):
        return
    if Release.objects.filter(pk=_id(rollout), decision=GO).exists():
        raise ReleaseDecided(f"{rollout} is part of release {rollout.release_id}, which has passed as a whole")


def leave_release(rollout: Rollout, error: dict[str, Any], *, now: datetime) -> None:
    """A rollback takes over from this rollout: the others go back, unless all had passed already."""
    if is_part(rollout):
        _decide(rollout, BACK, error, now=now)


def is_part(rollout: Rollout) -> bool:
    """Whether it goes forward as part of a release."""
    return rollout.release_id is not None and rollout.kind == RolloutKind.PROMOTE


def _decide(rollout: Rollout, decision: str, error: dict[str, Any], *, now: datetime) -> bool:
    """Compare-and-set: of two that decide at once, one does."""
    mine = Release.objects.filter(pk=_id(rollout), decision="")
    if not mine.update(decision=decision, decided_at=now, error=error):
        return False
    others = Rollout.objects.filter(release=rollout.release_id, state__in=ACTIVE_ROLLOUT).exclude(pk=rollout.pk)
    for pk in others.values_list("pk", flat=True):
        wake("conch.advance_rollout", rollout_id=pk)
    return True


def _id(rollout: Rollout) -> int:
    if rollout.release_id is None:
        raise ValueError(f"{rollout} is not part of a release")
    return rollout.release_id
