"""How a rollout is walked. One locked transaction each time; nothing outside is called."""

from datetime import datetime, timedelta

from django.db import transaction

from apps.common.dispatch import wake
from apps.common.due import FURTHEST
from apps.common.transitions import try_move
from apps.deployments.models import Rollout
from apps.deployments.services.forward import go_forward
from apps.deployments.services.putting_back import go_back, turn_by_itself
from apps.deployments.services.together import must_go_back
from apps.deployments.states import ACTIVE_ROLLOUT, RolloutState

LOOK_AGAIN_S = 5.0


def advance_rollout(rollout_id: int, *, now: datetime) -> None:
    """Start what is next, or end the rollout; nothing while it is paused, or enough runs are under way."""
    # Seen by others before anything is tallied: a run that ends from here on wakes it once more.
    _put_off(rollout_id, now + timedelta(seconds=LOOK_AGAIN_S), is_woken=False)
    with transaction.atomic():
        rollout = (
            Rollout.objects.select_for_update(of=("self",))
            .select_related("placement__environment", "placement__model", "from_version", "to_version", "to_overlay")
            .filter(pk=rollout_id, state__in=ACTIVE_ROLLOUT)
            .first()
        )
        if rollout is None:
            _wake_successor(rollout_id)
            return
        others_failed = must_go_back(rollout)
        if others_failed is not None:
            turn_by_itself(rollout, others_failed, now=now)
        if rollout.state == RolloutState.QUEUED:
            try_move(rollout, RolloutState.RUNNING, started_at=now)
        look_again_at = None
        if rollout.state == RolloutState.RUNNING:
            look_again_at = go_forward(rollout, now)
        elif rollout.state == RolloutState.REVERTING:
            go_back(rollout, now)
        if look_again_at:
            _put_off(rollout_id, min(look_again_at, now + FURTHEST))


def _put_off(rollout_id: int, until: datetime, **also: bool) -> None:
    Rollout.objects.filter(pk=rollout_id, state__in=ACTIVE_ROLLOUT).update(due_at=until, **also)


def _wake_successor(rollout_id: int) -> None:
    """A rollback that took over waits for the last worker in what it took over from."""
    for successor in Rollout.objects.filter(superseded=rollout_id, state__in=ACTIVE_ROLLOUT):
        wake("conch.advance_rollout", rollout_id=successor.pk)
