"""Desired state, read."""

from dataclasses import dataclass

from django.db.models import QuerySet

from apps.deployments.errors import PlacementUnknown
from apps.deployments.models import Placement, Probe
from apps.deployments.selectors.ways_back import has_way_back

# What a list never shows of a version, and what makes its row large.
LARGE = ("config", "config_text", "signature", "remarks", "error", "notes")


def without_large(*versions: str) -> list[str]:
    """For `defer`: the large columns of the versions joined under these names."""
    return [f"{version}__{column}" for version in versions for column in LARGE]


def placements(*, environment: str = "", model: str = "") -> QuerySet[Placement]:
    """Placements with all a list shows of them, by environment rank and model name."""
    found = Placement.objects.select_related("environment", "model", "active", "standby", "overlay")
    found = found.defer(*without_large("active", "standby"))
    if environment:
        found = found.filter(environment__name=environment)
    if model:
        found = found.filter(model__name=model)
    return found.order_by("environment__rank", "environment__name", "model__name")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The numbers of one model's versions that should be loaded in an environment; `has_way_back`: to earlier ones."""

    model: str
    active: int | None
    standby: int | None
    has_way_back: bool


def wanted_in(environment: str) -> list[Wanted]:
    """What should be loaded there, and no more of it than that: an environment may have hundreds of models."""
    found = Placement.objects.filter(environment__name=environment).order_by("model__name")
    columns = ("model__name", "active__number", "standby__number", "has_way_back")
    return [Wanted(*row) for row in found.annotate(has_way_back=has_way_back()).values_list(*columns)]


def get_placement(environment: str, model: str) -> Placement:
    """One model in one environment, or PlacementUnknown."""
    # Whole: what decides about a placement reads its versions' configurations.
    found = placements(environment=environment, model=model).defer(None).first()
    if found is None:
        raise PlacementUnknown(f"{model} has never been placed in {environment}")
    return found


def probes(placement: Placement, *, limit: int = 50) -> QuerySet[Probe]:
    """The last requests Conch itself made there, newest first."""
    return placement.probes.select_related("server").order_by("-at", "-pk")[:limit]
