"""Healing: bringing back on some servers what is desired there; it never stands in anybody's way."""

from collections.abc import Sequence

from apps.common.actor import CLOCK
from apps.deployments.errors import NoServers, PlacementChanged, RolloutActive
from apps.deployments.models import Placement, Rollout
from apps.deployments.services.beginning import begin
from apps.deployments.states import RolloutKind
from apps.fleet.models import Server


def heal(placement: Placement, servers: Sequence[Server], *, reason: str) -> Rollout | None:
    """Load what is desired on these servers; None when somebody was faster, or something else is moving it."""
    try:
        return begin(
            CLOCK,
            placement,
            RolloutKind.HEAL,
            list(servers),
            to=placement.active,
            reason=reason,
            # What pushed the desired version out was not placed by anybody.
            confirm=("unplaced",),
        )
    except (RolloutActive, PlacementChanged, NoServers):
        return None
