"""What should be loaded on each server now, where something may be moving it. A few queries for any number of them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from apps.deployments import plan
from apps.deployments.drift import Desired
from apps.deployments.models import Overlay, Placement, Rollout, Run
from apps.deployments.selectors.placements import without_large
from apps.deployments.states import ACTIVE_ROLLOUT, ACTIVE_RUN, RolloutKind, RolloutState, RunDirection, RunState
from apps.fleet.models import Server

# Before it goes on, and before it goes back: where its runs have not come, or have passed, something can be said.
_STANDING = (RolloutState.UNAPPROVED, RolloutState.QUEUED, RolloutState.RUNNING, RolloutState.PAUSED)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one model should have loaded on the servers of an environment, by its placement and by what moves it.

    `shares` are the servers' newest runs in `moving`. `ended_at` is when what moved it last has ended: whoever was
    not seen since may not be judged.
    """

    placement: Placement
    moving: Rollout | None
    shares: Mapping[int, Run]
    ended_at: datetime | None

    def moving_on(self, server: Server) -> Rollout | None:
        """What decides what happens to it there: a heal on the servers it is at work on, all else everywhere."""
        if self.moving is None or self.moving.kind != RolloutKind.HEAL:
            return self.moving
        share = self.shares.get(server.pk)
        return self.moving if share is not None and share.state in ACTIVE_RUN else None

    def settled_on(self, server: Server, *, seen_at: datetime) -> Desired | None:
        """What should be loaded there, by the placement; None while that is being changed, or was until it was seen."""
        share, desired = self.shares.get(server.pk), desired_of(self.placement)
        if not self._waits or (self.ended_at is not None and self.ended_at >= seen_at):
            return None
        if self.moving is None or share is None:
            return desired
        is_healed = self.moving.kind == RolloutKind.HEAL and _is_over(share, seen_at=seen_at)
        has_not_come = share.state == RunState.QUEUED and share.started_at is None
        return desired if is_healed or has_not_come else None

    def brought_to(self, server: Server, *, seen_at: datetime) -> Desired | None:
        """What a rollout that still moves others has brought it; what it keeps beside that is the rollout's."""
        share, moving = self.shares.get(server.pk), self.moving
        if moving is None or moving.to_version is None or share is None or not self._waits:
            return None
        is_brought = moving.kind != RolloutKind.HEAL and share.state == RunState.SUCCEEDED
        if not is_brought or not _is_over(share, seen_at=seen_at):
            return None
        number = moving.to_version.number
        return _desired(self.placement, frozenset({number}), number, moving.to_overlay)

    @property
    def _waits(self) -> bool:
        """Whether what moves it, if anything does, leaves some servers as they were and some as they will be."""
        moving = self.moving
        if moving is None or moving.kind == RolloutKind.HEAL:
            return True
        return moving.state in _STANDING and moving.goes_in_waves


def desired_versions(placement: Placement | None) -> frozenset[int]:
    """The versions that should be loaded for a placement."""
    if placement is None:
        return frozenset()
    return frozenset(version.number for version in (placement.active, placement.standby) if version is not None)


def desired_of(placement: Placement) -> Desired:
    """What should be loaded of the model, and how long a load may take."""
    active = placement.active.number if placement.active else None
    return _desired(placement, desired_versions(placement), active, placement.overlay)


def wanted(servers: Sequence[Server], *, since: datetime | None) -> Mapping[int, Mapping[str, Wanted]]:
    """By environment and model's name; of what has ended only what ended after `since`."""
    placed = _placed(servers)
    moving, ended_at = _rollouts(servers, since)
    shares = _shares(moving.values(), servers)
    return {
        home: {
            model: Wanted(one, moving.get(one.pk), shares.get(one.pk, {}), ended_at.get(one.pk))
            for model, one in placements.items()
        }
        for home, placements in placed.items()
    }


def _desired(placement: Placement, versions: frozenset[int], active: int | None, overlay: Overlay | None) -> Desired:
    under = plan.config_digest(overlay.document if overlay else {})
    return Desired(versions, active, placement.model.load_deadline_s, under)


def _is_over(share: Run, *, seen_at: datetime) -> bool:
    return share.finished_at is not None and share.finished_at < seen_at


def _placed(servers: Sequence[Server]) -> Mapping[int, dict[str, Placement]]:
    """Placements by environment and model's name."""
    found: dict[int, dict[str, Placement]] = defaultdict(dict)
    rows = Placement.objects.filter(environment__in={server.environment_id for server in servers})
    rows = rows.select_related("environment", "model", "overlay", "active", "standby")
    rows = rows.defer(*without_large("active", "standby"))
    for placement in rows:
        found[placement.environment_id][placement.model.name] = placement
    return found


def _rollouts(servers: Sequence[Server], since: datetime | None) -> tuple[dict[int, Rollout], dict[int, datetime]]:
    """What is moving, and when what moved ended, by placement."""
    recent = Q(finished_at__gte=since) if since else Q(pk=None)
    rows = Rollout.objects.filter(placement__environment__in={server.environment_id for server in servers})
    rows = rows.filter(Q(state__in=ACTIVE_ROLLOUT) | recent).select_related("to_version", "to_overlay")
    moving: dict[int, Rollout] = {}
    ended_at: dict[int, datetime] = {}
    for rollout in rows.defer("error", "policy", *without_large("to_version")).order_by("pk"):
        if rollout.finished_at is None:
            moving[rollout.placement_id] = rollout
        else:
            ended_at[rollout.placement_id] = rollout.finished_at
    return moving, ended_at


def _shares(moving: Iterable[Rollout], servers: Sequence[Server]) -> Mapping[int, Mapping[int, Run]]:
    """The newest run of each of these servers in what moves, by placement; no query where nothing does."""
    of_placement = {rollout.pk: rollout.placement_id for rollout in moving}
    if not of_placement:
        return {}
    found: dict[int, dict[int, Run]] = defaultdict(dict)
    runs = Run.objects.filter(rollout__in=of_placement, server__in=servers, direction=RunDirection.FORWARD)
    for run in runs.only("rollout_id", "server_id", "state", "started_at", "finished_at").order_by("pk"):
        found[of_placement[run.rollout_id]][run.server_id] = run
    return found
