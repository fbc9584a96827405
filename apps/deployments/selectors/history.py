"""What was live where, at any moment, by whom and why. One query, whatever the moment."""

from datetime import datetime

from django.db.models import OuterRef, QuerySet, Subquery

from apps.deployments.models import Placement, PlacementChange
from apps.deployments.selectors.placements import without_large

_VERSIONS = ("active", "standby", "coming", "placement__active")


def placements_at(at: datetime, *, environment: str = "", model: str = "") -> QuerySet[PlacementChange]:
    """Each placement as the last change before `at` left it, with what is live there now (`placement.active`)."""
    before = PlacementChange.objects.filter(placement=OuterRef("pk"), at__lte=at).order_by("-at", "-pk")
    wanted = {"environment__name": environment, "model__name": model}
    placed = Placement.objects.filter(**{name: value for name, value in wanted.items() if value})
    newest = placed.annotate(newest=Subquery(before.values("pk")[:1])).values("newest")
    found = PlacementChange.objects.filter(pk__in=newest)
    found = found.select_related("placement__environment", "placement__model", *_VERSIONS)
    found = found.defer(*without_large(*_VERSIONS))
    return found.order_by("placement__environment__rank", "placement__environment__name", "placement__model__name")


def change_moments(model: str, *, limit: int = 200) -> list[datetime]:
    """When what was live of a model changed, in any environment; the last ones, oldest first."""
    found = PlacementChange.objects.filter(placement__model__name=model).order_by("-at", "-pk")
    return list(found.values_list("at", flat=True)[:limit])[::-1]
