"""Servers that come back with what was rolled back while they were away: they follow, hold or no hold."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from apps.common.actor import CLOCK
from apps.common.names import natural
from apps.deployments.errors import NoServers, PlacementChanged, RolloutActive
from apps.deployments.healing import next_try_at
from apps.deployments.models import Placement, Rollout
from apps.deployments.selectors.healing import followed
from apps.deployments.selectors.left_behind import left_behind
from apps.deployments.services.beginning import begin
from apps.deployments.states import RolloutKind
from apps.fleet.models import Server


def catch_up(*, now: datetime) -> list[Rollout]:
    """Roll back every server that was just seen serving what is banned there or was rolled back without it.

    Tells what has begun. Only what a rollback left behind is touched, so the hold it set does not stand in the way:
    this is that rollback. A server on which it did not help is asked again later and later, as for a heal.
    """
    found = left_behind()
    tried = followed([server for _, server in found], now=now) if found else {}
    astray: dict[Placement, list[Server]] = defaultdict(list)
    for placement, server in found:
        attempts, last_at = tried.get((server.pk, placement.pk), (0, None))
        again_at = next_try_at(attempts=attempts, last_at=last_at)
        if again_at is None or again_at <= now:
            astray[placement].append(server)
    begun = [_roll_back(placement, servers) for placement, servers in astray.items()]
    return [rollout for rollout in begun if rollout is not None]


def _roll_back(placement: Placement, servers: Iterable[Server]) -> Rollout | None:
    chosen = sorted(servers, key=lambda server: natural(server.name))
    names = ", ".join(server.name for server in chosen)
    try:
        return begin(
            CLOCK,
            placement,
            RolloutKind.ROLLBACK,
            chosen,
            to=placement.active,
            reason=f"{names} came back with a version that was rolled back",
            confirm=(),
        )
    except (RolloutActive, PlacementChanged, NoServers):
        return None
