"""Whether clients may be sent to a server: whether it serves everything that its environment should have."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q

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
        # The reason names the server itself, mostly.
        why = observation.reason.removeprefix(f"{server.name}: ")
        return InService((f"{server.name} does not answer: {why}",), observation.seen_at, is_stale)
    return InService(tuple(_faults(server, observation.seen_at)), observation.seen_at, is_stale)


def _faults(server: Server, seen_at: datetime) -> list[str]:
    placements = Placement.objects.filter(environment=server.environment_id, active__isnull=False)
    placements = placements.select_related("model", "active").defer(*without_large("active")).order_by("model__name")
    coming = _coming(server, seen_at)
    seen = observed([placement.model.name for placement in placements], [server])[server.pk]
    return [
        said
        for placement in placements
        if (said := _fault(placement, coming[placement.pk], seen.get(placement.model.name, {})))
    ]


def _coming(server: Server, seen_at: datetime) -> Mapping[int, set[int]]:
    """By placement, the numbers that rollouts go between: those moving, taken over from, or over since the last look.

    What they have begun on this server is what it was last seen with, however they end.
    """
    is_moving = Q(state__in=ACTIVE_ROLLOUT) | Q(superseded_by__state__in=ACTIVE_ROLLOUT)
    rollouts = Rollout.objects.filter(
        is_moving | Q(finished_at__gte=seen_at), placement__environment=server.environment_id
    )
    found: dict[int, set[int]] = defaultdict(set)
    for placement_id, *numbers in rollouts.values_list("placement", "from_version__number", "to_version__number"):
        found[placement_id] |= {number for number in numbers if number is not None}
    return found


def _fault(placement: Placement, coming: Collection[int], seen: Mapping[int, Sight]) -> str:
    """What is wrong with one model, empty while what clients get is a version that they are meant for.

    They get the highest one loaded.
    """
    active, name = placement.active.number if placement.active else 0, placement.model.name
    highest = max((number for number, sight in seen.items() if sight.state == "READY"), default=None)
    if highest is not None and highest in {active, *coming}:
        return ""
    if highest is not None and highest > active:
        return f"{name} {highest} is loaded above {active}, so clients get it instead"
    sight = seen.get(active, Sight(""))
    return f"{name} {active} is {sight.state or 'not loaded'}{f': {sight.reason}' if sight.reason else ''}"
