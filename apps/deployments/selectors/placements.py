"""Desired state, read."""

from dataclasses import dataclass

from django.db.models import QuerySet

from apps.deployments.errors import PlacementUnknown
from apps.deployments.models import Placement, Probe

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
    """The numbers of one model's versions that should be loaded in an environment."""

    model: str
    active: int | None
    standby: int | None


def wanted_in(environment: str) -> list[Wanted]:
    """What should be loaded there, and no more of it than that: an environment may have hundreds of models."""
    found = Placement.objects.filter(environment__name=environment).order_by("model__name")
    return [Wanted(*row) for row in found.values_list("model__name", "active__number", "standby__number")]


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
