"""Desired state, read."""

from django.db.models import QuerySet

from apps.deployments.errors import PlacementUnknown
from apps.deployments.models import Placement, Probe


def placements(*, environment: str = "", model: str = "") -> QuerySet[Placement]:
    """Placements with all a list shows of them, by environment rank and model name."""
    found = Placement.objects.select_related("environment", "model", "active", "standby")
    if environment:
        found = found.filter(environment__name=environment)
    if model:
        found = found.filter(model__name=model)
    return found.order_by("environment__rank", "environment__name", "model__name")


def get_placement(environment: str, model: str) -> Placement:
    """One model in one environment, or PlacementUnknown."""
    found = placements(environment=environment, model=model).first()
    if found is None:
        raise PlacementUnknown(f"{model} has never been placed in {environment}")
    return found


def probes(placement: Placement, *, limit: int = 50) -> QuerySet[Probe]:
    """The last requests Conch itself made there, newest first."""
    return placement.probes.select_related("server").order_by("-at", "-pk")[:limit]
