"""The fleet as a matrix: one row per model, one cell per server. A constant number of queries."""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from django.db.models import Case, Count, Max, Min, OuterRef, Q, QuerySet, Subquery, When
from django.utils import timezone

from apps.common.names import shadow_of
from apps.deployments.drift import Desired, Difference, Seen, drift, lacking
from apps.deployments.models import Judgement, Placement, Rollout, Run
from apps.deployments.selectors.drift import observed
from apps.deployments.selectors.placements import without_large
from apps.deployments.selectors.rollouts import with_progress
from apps.deployments.selectors.wanted import desired_of
from apps.deployments.states import ACTIVE_ROLLOUT, RunDirection, RunState
from apps.fleet.models import Environment, ObservedVersion
from apps.fleet.selectors import Glance
from apps.metrics.verdicts import Verdict
from apps.registry.models import Model

# Of one model on one server: all versions and those that are right, the least and the most, and what they loaded under.
_Tally = tuple[int | str | None, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """One model on one server: `state` is serving, changing, drift, unseen or absent."""

    server: Glance
    state: str
    active: int | None
    standby: int | None = None
    going_to: int | None = None
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One model across the fleet."""

    model: Model
    cells: Mapping[str, list[Cell]] = field(default_factory=dict)
    placements: Mapping[str, Placement] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Known:
    """Of all cells: those that are plainly right, what was seen at the others, where those go that are changing.

    `right` are servers by model's name. `passed` have been changed already by a rollout that still moves others, or
    bakes.
    """

    right: Mapping[str, Set[int]]
    seen: Mapping[int, Seen]
    moving: Mapping[tuple[int, int], int | None]
    passed: Mapping[tuple[int, int], int | None]


def fleet_rows(models: list[Model], environments: list[Environment], servers: Sequence[Glance]) -> list[Row]:
    """Rows for these models over these servers; cells are keyed by environment name."""
    placed = _placements(models, environments)
    names_of = {environment.pk: environment.name for environment in environments}
    there: dict[str, list[Glance]] = {environment.name: [] for environment in environments}
    for server in servers:
        there[names_of[server.environment_id]].append(server)
    moving, passed = _moving(models)
    right = _plainly_right(models, placed, there)
    named = {model.pk: model.name for model in models}
    for server_id, model_id in passed:
        right[named[model_id]].discard(server_id)
    known = _Known(right, _seen_of_others(models, placed, there, right), moving, passed)
    rows = []
    for model in models:
        mine = placed[model.pk]
        cells = {name: _cells(found, model, mine.get(name), known) for name, found in there.items()}
        rows.append(Row(model, cells, mine))
    return rows


def _cells(servers: Sequence[Glance], model: Model, placement: Placement | None, known: _Known) -> list[Cell]:
    """One for each server. Of a thousand most are plainly right, and are not looked at any closer."""
    active = placement.active.number if placement and placement.active else None
    standby = placement.standby.number if placement and placement.standby else None
    if active is None:
        return [_cell(server, model, placement, known) for server in servers]
    right = known.right[model.name] - {server_id for server_id, model_id in known.moving if model_id == model.pk}
    return [
        Cell(server, "serving", active, standby)
        if server.is_reachable and server.pk in right
        else _cell(server, model, placement, known)
        for server in servers
    ]


def _cell(server: Glance, model: Model, placement: Placement | None, known: _Known) -> Cell:
    place = (server.pk, model.pk)
    active = placement.active.number if placement and placement.active else None
    standby = placement.standby.number if placement and placement.standby else None
    if place in known.moving:
        return Cell(server, "changing", active, standby, going_to=known.moving[place])
    if active is None or placement is None:
        return Cell(server, "absent", None)
    if not server.is_reachable:
        return Cell(server, "unseen", active, standby)
    found = known.seen.get(server.pk, {})
    if place in known.passed:
        lacking = _lacking(model, known.passed[place], found)
        state = "drift" if lacking else "changing"
        return Cell(server, state, active, standby, going_to=known.passed[place], differences=lacking)
    differences = tuple(drift({model.name: desired_of(placement)}, found, now=timezone.now()))
    return Cell(server, "drift" if differences else "serving", active, standby, differences=differences)


def _lacking(model: Model, brought: int | None, seen: Seen) -> tuple[Difference, ...]:
    """What a server lacks of what a rollout that still moves has brought it; what it keeps beside is that rollout's."""
    wanted = Desired(frozenset() if brought is None else frozenset({brought}), brought, model.load_deadline_s)
    return tuple(lacking({model.name: wanted}, seen, now=timezone.now()))


def _plainly_right(
    models: list[Model], placed: Mapping[int, Mapping[str, Placement]], there: Mapping[str, list[Glance]]
) -> dict[str, set[int]]:
    """Most cells of a large fleet: exactly what is desired is READY, and nothing else is known of the model there.

    The servers by model's name.
    """
    seen = _tallies([name for model in models for name in (model.name, shadow_of(model.name))], list(there))
    right: dict[str, set[int]] = {model.name: set() for model in models}
    for model in models:
        mine, beside = seen[model.name], seen[shadow_of(model.name)]
        for name, placement in placed[model.pk].items():
            good = _as_desired(desired_of(placement))
            right[model.name] |= {one.pk for one in there[name] if mine.get(one.pk) in good and one.pk not in beside}
    return right


def _tallies(names: list[str], environments: list[str]) -> Mapping[str, Mapping[int, _Tally]]:
    """What was seen of these models, by server. Counted by the database: a row for each version would take longest."""
    # By environment: to name each of a thousand servers takes longer than to pass over those that are not asked about.
    rows = ObservedVersion.objects.filter(server__environment__name__in=environments)
    is_right, is_told = Q(state="READY", restarted_at=None), ~Q(loaded_under="")
    tallies = (
        rows.filter(model__in=names)
        .order_by()
        .values_list("server_id", "model")
        .annotate(all=Count("pk"), right=Count("pk", filter=is_right), least=Min("version"), most=Max("version"))
        .annotate(under=Min("loaded_under", filter=is_told), other=Max("loaded_under", filter=is_told))
    )
    seen: dict[str, dict[int, _Tally]] = {name: {} for name in names}
    for server_id, name, *tally in tallies:
        seen[name][server_id] = tuple(tally)
    return seen


def _as_desired(wanted: Desired) -> Set[_Tally]:
    """How many rows there are and are right, the least and most of their versions, and of what they loaded under."""
    versions, under = wanted.versions, wanted.under
    if not versions:
        return frozenset()
    counted = (len(versions), len(versions), min(versions), max(versions))
    # Nobody told of any, or each of those that were told of is that one.
    return frozenset({(*counted, None, None), (*counted, under, under)})


def _seen_of_others(
    models: list[Model],
    placed: Mapping[int, Mapping[str, Placement]],
    there: Mapping[str, list[Glance]],
    right: Mapping[str, Set[int]],
) -> Mapping[int, Seen]:
    """What was seen where something is not plainly right: these cells need a closer look."""
    odd = {
        model.name: [one.pk for name in placed[model.pk] for one in there[name] if one.pk not in right[model.name]]
        for model in models
    }
    servers = {pk for found in odd.values() for pk in found}
    return observed({model for model, found in odd.items() if found}, sorted(servers)) if servers else {}


def _placements(models: list[Model], environments: list[Environment]) -> Mapping[int, dict[str, Placement]]:
    """By model and environment's name. Both are known already: they are put in, not read again for every row."""
    by_model = {model.pk: model for model in models}
    by_environment = {environment.pk: environment for environment in environments}
    found: dict[int, dict[str, Placement]] = defaultdict(dict)
    versions = Placement.objects.select_related("active", "standby", "overlay")
    versions = versions.defer(*without_large("active", "standby"))
    for placement in versions.filter(model__in=models, environment__in=environments):
        placement.model, placement.environment = by_model[placement.model_id], by_environment[placement.environment_id]
        found[placement.model_id][placement.environment.name] = placement
    return found


def _moving(models: list[Model]) -> tuple[dict[tuple[int, int], int | None], dict[tuple[int, int], int | None]]:
    """The version that a server's model is going to, where it is changing, and where it has gone there already.

    Numbers only, there may be a thousand.
    """
    runs = Run.objects.filter(model__in=models, rollout__state__in=ACTIVE_ROLLOUT).order_by("pk")
    runs = runs.filter(state__in=(RunState.RUNNING, RunState.SUCCEEDED)).exclude(direction=RunDirection.SETTLE)
    moving: dict[tuple[int, int], int | None] = {}
    passed: dict[tuple[int, int], int | None] = {}
    for server, model, state, direction, before, after in runs.values_list(
        "server_id",
        "model_id",
        "state",
        "direction",
        "rollout__from_version__number",
        "rollout__to_version__number",
    ):
        is_back, place = direction == RunDirection.REVERT, (server, model)
        if state == RunState.RUNNING:
            moving[place] = before if is_back else after
        elif is_back:
            # It is where it was.
            passed.pop(place, None)
        else:
            passed[place] = after
    return moving, passed


def moving_rollouts() -> list[Rollout]:
    """What is moving now, oldest first, with its progress and the newest look at its gates (`last_judgement`)."""
    found = Rollout.objects.filter(state__in=ACTIVE_ROLLOUT).select_related(
        "placement__environment", "placement__model", "from_version", "to_version"
    )
    return with_last_judgement(with_progress(found).order_by("pk"))


def with_last_judgement(rollouts: QuerySet[Rollout], *, most: int | None = None) -> list[Rollout]:
    """The first of these, each with its newest look at a gate (`last_judgement`): of several at once, what failed."""
    is_failed = Case(When(verdict=Verdict.FAIL, then=0), default=1)
    last = Judgement.objects.filter(rollout=OuterRef("pk")).order_by("-at", is_failed, "-pk").values("pk")
    rows = list(rollouts.annotate(last_judgement_id=Subquery(last[:1]))[:most])
    wanted = [row.last_judgement_id for row in rows if row.last_judgement_id]
    judged = Judgement.objects.in_bulk(wanted) if wanted else {}
    for row in rows:
        row.last_judgement = judged.get(row.last_judgement_id)  # type: ignore[attr-defined]
    return list(rows)
