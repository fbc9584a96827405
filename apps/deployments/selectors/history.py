"""What was live where, at any moment, by whom and why. Two queries, whatever the moment."""

from datetime import datetime

from django.db.models import OuterRef, Prefetch, Q, QuerySet, Subquery

from apps.deployments.models import Placement, PlacementChange
from apps.deployments.selectors.placements import without_large

NOTHING = "nothing"
_NOW, _THEN = ("active", "standby"), ("active", "standby", "coming")


def placements_at(at: datetime, *, environment: str = "", model: str = "") -> QuerySet[Placement]:
    """Each placement with the last change before `at`, which `change_of` reads; those first made since come too."""
    before = PlacementChange.objects.filter(placement=OuterRef("pk"), at__lte=at).order_by("-at", "-pk")
    wanted = {"environment__name": environment, "model__name": model}
    placed = Placement.objects.filter(**{name: value for name, value in wanted.items() if value})
    placed = placed.annotate(newest=Subquery(before.values("pk")[:1]))
    placed = placed.filter(Q(newest__isnull=False) | Q(active__isnull=False))
    changes = PlacementChange.objects.filter(pk__in=placed.values("newest")).select_related(*_THEN, "overlay")
    found = placed.prefetch_related(Prefetch("changes", changes.defer(*without_large(*_THEN)), to_attr="then"))
    found = found.select_related("environment", "model", "overlay", *_NOW).defer(*without_large(*_NOW))
    return found.order_by("environment__rank", "environment__name", "model__name")


def change_of(placement: Placement) -> PlacementChange:
    """What `placements_at` found of it, with what stands there now; a row that says so where nothing had ever stood."""
    found: list[PlacementChange] = getattr(placement, "then", [])
    change = found[0] if found else PlacementChange(what=NOTHING)
    change.placement = placement
    return change


def change_moments(model: str, *, limit: int = 200) -> list[datetime]:
    """When what was live of a model changed, in any environment; the last ones, oldest first."""
    found = PlacementChange.objects.filter(placement__model__name=model).order_by("-at", "-pk")
    return list(found.values_list("at", flat=True)[:limit])[::-1]
