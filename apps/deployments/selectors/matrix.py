"""The fleet as a matrix: one row per model, one cell per server. A constant number of queries."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db.models import Case, OuterRef, QuerySet, Subquery, When
from django.utils import timezone

from apps.common.names import shadow_of
from apps.deployments.drift import Difference, Seen, drift
from apps.deployments.models import Judgement, Placement, Rollout, Run
from apps.deployments.selectors.drift import desired_of, desired_versions, observed
from apps.deployments.selectors.placements import without_large
from apps.deployments.selectors.rollouts import with_progress
from apps.deployments.states import ACTIVE_ROLLOUT, RunDirection, RunState
from apps.fleet.models import Environment, Server
from apps.metrics.verdicts import Verdict
from apps.registry.models import Model


@dataclass(frozen=True, slots=True)
class Cell:
    """One model on one server: `state` is serving, changing, drift, unseen or absent."""

    server: Server
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


def fleet_rows(models: list[Model], environments: list[Environment], servers: list[Server]) -> list[Row]:
    """Rows for these models over these servers; cells are keyed by environment name."""
    names = [model.name for model in models]
    placed = _placements(models, environments)
    seen = observed(names, servers)
    moving = _moving(models)
    names_of = {environment.pk: environment.name for environment in environments}
    by_environment: dict[str, list[Server]] = defaultdict(list)
    for server in servers:
        by_environment[names_of[server.environment_id]].append(server)
    rows = []
    for model in models:
        mine = placed[model.pk]
        cells = {
            environment.name: [
                _cell(server, model, mine.get(environment.name), seen[server.pk], moving)
                for server in by_environment[environment.name]
            ]
            for environment in environments
        }
        rows.append(Row(model, cells, mine))
    return rows


def _cell(
    server: Server,
    model: Model,
    placement: Placement | None,
    seen: Seen,
    moving: Mapping[tuple[int, int], int | None],
) -> Cell:
    place = (server.pk, model.pk)
    active = placement.active.number if placement and placement.active else None
    standby = placement.standby.number if placement and placement.standby else None
    if place in moving:
        return Cell(server, "changing", active, standby, going_to=moving[place])
    if active is None:
        return Cell(server, "absent", None)
    observation = getattr(server, "observation", None)
    if observation is None or not observation.is_reachable:
        return Cell(server, "unseen", active, standby)
    if placement is None or _is_plainly_right(model.name, placement, seen):
        return Cell(server, "serving", active, standby)
    differences = tuple(drift({model.name: desired_of(placement)}, seen, now=timezone.now()))
    return Cell(server, "drift" if differences else "serving", active, standby, differences=differences)


def _is_plainly_right(model: str, placement: Placement, seen: Seen) -> bool:
    """Most cells of a large fleet: exactly what is desired is READY, and nothing else is known of the model there."""
    sights = seen.get(model, {})
    return (
        sights.keys() == desired_versions(placement)
        and shadow_of(model) not in seen
        and all(sight.state == "READY" and not sight.has_restarted for sight in sights.values())
    )


def _placements(models: list[Model], environments: list[Environment]) -> Mapping[int, dict[str, Placement]]:
    """By model and environment's name. Both are known already: they are put in, not read again for every row."""
    by_model = {model.pk: model for model in models}
    by_environment = {environment.pk: environment for environment in environments}
    found: dict[int, dict[str, Placement]] = defaultdict(dict)
    versions = Placement.objects.select_related("active", "standby").defer(*without_large("active", "standby"))
    for placement in versions.filter(model__in=models, environment__in=environments):
        placement.model, placement.environment = by_model[placement.model_id], by_environment[placement.environment_id]
        found[placement.model_id][placement.environment.name] = placement
    return found


def _moving(models: list[Model]) -> dict[tuple[int, int], int | None]:
    """The version that a server's model is going to, where it is changing: numbers only, there may be a thousand."""
    runs = Run.objects.filter(model__in=models, state=RunState.RUNNING, rollout__state__in=ACTIVE_ROLLOUT)
    found = runs.exclude(direction=RunDirection.SETTLE).values_list(
        "server_id", "model_id", "direction", "rollout__from_version__number", "rollout__to_version__number"
    )
    return {
        (server, model): before if direction == RunDirection.REVERT else after
        for server, model, direction, before, after in found
    }


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
