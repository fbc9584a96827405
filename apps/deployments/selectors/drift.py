"""Where servers differ from what is desired, read: as it is now, and as it was kept."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case, Count, F, Q, QuerySet, When

from apps.common.names import SHADOW_SUFFIX, shadow_of
from apps.deployments.drift import BUSY, Difference, DriftKind, Seen, Sight, drift, lacking
from apps.deployments.models import Drift, Placement, Rollout, Run
from apps.deployments.selectors.wanted import Wanted, wanted
from apps.deployments.states import ACTIVE_RUN
from apps.fleet.models import ObservedVersion, Server


@dataclass(frozen=True, slots=True)
class Look:
    """One server as it was last seen.

    `judged` are the models about which something can be said: not those that a rollout is changing there, or has
    changed since the server was asked. The empty name stands for the server as a whole. `moving` are the rollouts that
    decide what happens to a model there, whether they have come to this server or not.
    """

    server: Server
    placements: Mapping[str, Placement]
    differences: tuple[Difference, ...]
    judged: frozenset[str]
    moving: Mapping[str, Rollout]


@dataclass(frozen=True, slots=True)
class DriftCount:
    """How many differences of one kind are open in one environment; what the alerts are made from."""

    environment: str
    kind: str
    count: int


def look(servers: Sequence[Server], *, now: datetime) -> list[Look]:
    """These servers, which come with their observation, against what is desired there. A few queries for all."""
    since = min((at for server in servers if (at := _seen_at(server)) is not None), default=None)
    by_environment = wanted(servers, since=since)
    seen = observed({model for models in by_environment.values() for model in models}, servers)
    return [_look(server, by_environment.get(server.environment_id, {}), seen[server.pk], now) for server in servers]


def server_drift(server: Server, *, now: datetime) -> list[Difference]:
    """What one server serves less or more than it should."""
    return list(look([server], now=now)[0].differences)


@dataclass(frozen=True, slots=True)
class Told:
    """A difference with what was kept of it: since when, why nothing is done about it, when something will be."""

    difference: Difference
    since: datetime | None
    why_not: str
    next_try_at: datetime | None


def told_drift(server: Server, *, now: datetime) -> list[Told]:
    """What one server serves less or more than it should, and what is being done about it."""
    kept = {(row.model, row.version, row.kind): row for row in open_rows([server.pk])}
    found = []
    for each in server_drift(server, now=now):
        row = kept.get(each.key)
        found.append(Told(each, row.since, row.why_not, row.next_try_at) if row else Told(each, None, "", None))
    return found


def kept_drift(*, environment: str = "", server: str = "", ended: bool = False) -> QuerySet[Drift]:
    """What differs, as kept with since when and what is done about it; with `ended` what is over too."""
    found = Drift.objects.select_related("server__environment")
    if not ended:
        found = found.filter(ended_at=None)
    if environment:
        found = found.filter(server__environment__name=environment)
    if server:
        found = found.filter(server__name=server)
    return found.order_by("-since", "-pk")


def stuck_models() -> set[str]:
    """The models that hang on some server, in their shadow or live."""
    names = Drift.objects.filter(ended_at=None, kind=DriftKind.STUCK).values_list("model", flat=True)
    return {name.removesuffix(SHADOW_SUFFIX) for name in names}


def drift_counts() -> list[DriftCount]:
    """Open differences by environment and kind. Models that Conch has not placed are in none of them."""
    by = ("server__environment__name", "kind")
    grouped = Drift.objects.filter(ended_at=None).values_list(*by).annotate(count=Count("pk")).order_by(*by)
    return [DriftCount(*row) for row in grouped]


def observed(models: Iterable[str], servers: Sequence[Server] | Sequence[int]) -> Mapping[int, Seen]:
    """What was last seen of these models and their shadows, by server; these may be told by their keys."""
    found: dict[int, dict[str, dict[int, Sight]]] = defaultdict(lambda: defaultdict(dict))
    names = [name for model in models for name in (model, shadow_of(model))]
    rows = ObservedVersion.objects.filter(server__in=servers, model__in=names).annotate(
        # A time costs more to read than all the rest of a row, and only of these it says something.
        busy_since=Case(When(state__in=BUSY, then=F("since"))),
        has_restarted=Q(restarted_at__isnull=False),
    )
    for server_id, model, version, *sight in rows.values_list(
        "server_id", "model", "version", "state", "reason", "busy_since", "has_restarted", "loaded_under"
    ):
        found[server_id][model][version] = Sight(*sight)
    return found


def _look(server: Server, models: Mapping[str, Wanted], seen: Seen, now: datetime) -> Look:
    observation, seen_at = getattr(server, "observation", None), _seen_at(server)
    placements = {model: one.placement for model, one in models.items()}
    mine = {model: rollout for model, one in models.items() if (rollout := one.moving_on(server)) is not None}
    if seen_at is None:
        reason = observation.reason if observation else ""
        silent = (Difference("", 0, DriftKind.UNREACHABLE, reason),) if observation else ()
        return Look(server, placements, silent, frozenset({""}), mine)
    settled = {model: desired for model, one in models.items() if (desired := one.settled_on(server, seen_at=seen_at))}
    brought = {model: desired for model, one in models.items() if (desired := one.brought_to(server, seen_at=seen_at))}
    differences = [*drift(settled, seen, now=now), *lacking(brought, seen, now=now)]
    return Look(server, placements, tuple(differences), frozenset({"", *settled, *brought}), mine)


def _seen_at(server: Server) -> datetime | None:
    """When the server last answered, None while it does not."""
    observation = getattr(server, "observation", None)
    return observation.seen_at if observation is not None and observation.is_reachable else None


def open_rows(server_ids: Collection[int]) -> QuerySet[Drift]:
    """The open rows of these servers."""
    return Drift.objects.filter(server__in=server_ids, ended_at=None)


def changing_models(server_ids: Collection[int]) -> dict[int, set[str]]:
    """The models that rollouts are changing on these servers now, with their shadows, by server."""
    found: dict[int, set[str]] = defaultdict(set)
    runs = Run.objects.filter(server__in=server_ids, state__in=ACTIVE_RUN)
    for server_id, model in runs.values_list("server_id", "model__name"):
        found[server_id] |= {model, shadow_of(model)}
    return found
