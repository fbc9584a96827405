"""Which models are made of others, read from the configurations of what is live."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from apps.deployments.models import Placement
from apps.deployments.selectors.placements import without_large
from apps.fleet.models import Environment
from apps.registry.models import Sample, Version
from apps.serving import backends
from apps.serving.configuration import Member

# As uploads are written; a key that only ensembles have, so that the database finds them.
KIND, ENSEMBLE_KEY = "triton", "ensemble_scheduling"


@dataclass(frozen=True, slots=True)
class Ensemble:
    """A live ensemble: its model, its active version with its configuration, and the models it is made of."""

    model: str
    number: int
    members: tuple[Member, ...]
    config: Mapping[str, Any]
    signature: Mapping[str, Any]

    def pins(self, model: str) -> int | None:
        """The only version of `model` that it takes, None when it takes the highest one loaded."""
        return next((member.version for member in self.members if member.model == model), None)


def members_of(version: Version) -> tuple[Member, ...]:
    """The models that a version is made of; none unless it is an ensemble."""
    return backends.get(KIND).CONFIG.members(version.config)


def live_ensembles(environment: Environment) -> list[Ensemble]:
    """The ensembles that are live in an environment, by name."""
    live = Placement.objects.filter(environment=environment, active__config__has_key=ENSEMBLE_KEY)
    live = live.select_related("model", "active").defer(
        *(set(without_large("active")) - {"active__config", "active__signature"})
    )
    return [
        Ensemble(
            placement.model.name,
            placement.active.number,
            members_of(placement.active),
            placement.active.config,
            placement.active.signature,
        )
        for placement in live.order_by("model__name")
        if placement.active is not None
    ]


def ensembles_on(placement: Placement) -> list[Ensemble]:
    """The live ensembles that the model is a member of."""
    name = placement.model.name
    return [one for one in live_ensembles(placement.environment) if name in {member.model for member in one.members}]


def members_left(placement: Placement) -> list[str]:
    """Which models stay loaded when the placement's ensemble is unloaded: its members, each live in its own right."""
    names = {member.model for member in members_of(placement.active)} if placement.active is not None else set()
    if not names:
        return []
    live = Placement.objects.filter(environment=placement.environment, model__name__in=names, active__isnull=False)
    return sorted(live.values_list("model__name", flat=True))


def stopped_by(placement: Placement, number: int) -> list[Ensemble]:
    """The live ensembles that take another version of the model only, and stop once `number` alone is loaded."""
    return [one for one in ensembles_on(placement) if one.pins(placement.model.name) not in (None, number)]


def samples_of(models: Collection[str]) -> dict[str, list[Sample]]:
    """The samples of some models, by model and name."""
    found: dict[str, list[Sample]] = {model: [] for model in models}
    for sample in Sample.objects.filter(model__name__in=models).select_related("model").order_by("name"):
        found[sample.model.name].append(sample)
    return found


def members_by_placement(placement_ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """The names of the members of those placements that are ensembles."""
    rows = Placement.objects.filter(pk__in=set(placement_ids), active__config__has_key=ENSEMBLE_KEY)
    read = backends.get(KIND).CONFIG.members
    return {
        pk: tuple(member.model for member in read(config)) for pk, config in rows.values_list("pk", "active__config")
    }
