"""Whether clients may be sent to a server: whether it serves everything that its environment should have."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.deployments.drift import Sight
from apps.deployments.models import Placement, Rollout
from apps.deployments.selectors.drift import observed
from apps.deployments.selectors.placements import without_large
from apps.deployments.states import ACTIVE_ROLLOUT
from apps.fleet.models import Server
from apps.fleet.states import ServerState

# Conch itself has not asked for so long: its verdict is the last one it had, and says so.
STALE_AFTER = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class InService:
    """The verdict on one server. `reasons` say what is missing; `is_stale` that Conch has not asked it lately."""

    reasons: tuple[str, ...]
    seen_at: datetime | None
    is_stale: bool

    @property
    def is_in_service(self) -> bool:
        """Nothing is missing."""
        return not self.reasons


def in_service(server: Server, *, now: datetime) -> InService:
    """The verdict on a server that comes with its observation. A handful of queries; nobody is asked.

    A Conch that stands still takes no server out: then the last verdict stays. A server that did not answer is out
    until it was seen whole again, because it may come back empty.
    """
    observation = getattr(server, "observation", None)
    if server.state != ServerState.ACTIVE or observation is None or observation.seen_at is None:
        state = "not seen yet" if server.state == ServerState.ACTIVE else server.state
        return InService((f"{server.name} is {state}",), None, is_stale=False)
    is_stale = now - observation.at > STALE_AFTER
    if not observation.is_reachable:
        return InService((f"{server.name} does not answer: {observation.reason}",), observation.seen_at, is_stale)
    return InService(tuple(_missing(server)), observation.seen_at, is_stale)


def _missing(server: Server) -> list[str]:
    placements = Placement.objects.filter(environment=server.environment_id, active__isnull=False)
    placements = placements.select_related("model", "active").defer(*without_large("active")).order_by("model__name")
    moving = {
        rollout.placement_id: rollout
        for rollout in Rollout.objects.filter(placement__environment=server.environment_id, state__in=ACTIVE_ROLLOUT)
        .select_related("from_version", "to_version")
        .defer(*without_large("from_version", "to_version"))
    }
    seen = observed([placement.model.name for placement in placements], [server])[server.pk]
    return [
        said
        for placement in placements
        if (said := _fault(placement, moving.get(placement.pk), seen.get(placement.model.name, {})))
    ]


def _fault(placement: Placement, moving: Rollout | None, seen: Mapping[int, Sight]) -> str:
    """What is wrong with one model, empty while some version that clients are meant for serves."""
    meant = {placement.active, *((moving.from_version, moving.to_version) if moving else ())}
    numbers = {version.number for version in meant if version is not None}
    if any(sight.state == "READY" for number, sight in seen.items() if number in numbers):
        return ""
    active = placement.active.number if placement.active else 0
    sight = seen.get(active, Sight(""))
    return (
        f"{placement.model.name} {active} is {sight.state or 'not loaded'}{f': {sight.reason}' if sight.reason else ''}"
    )
