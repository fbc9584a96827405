"""Whether there is anything to go back to: part of a query about many placements at once."""

from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q

from apps.deployments.models import Ban, Rollout
from apps.deployments.states import ACTIVE_ROLLOUT, RolloutKind, RolloutState
from apps.registry.models import Version
from apps.registry.states import VersionState


def has_way_back(at: str = "") -> "ExpressionWrapper[Q]":
    """Of a placement with something live: whether there is an earlier version to go to, or a change to turn round.

    `at` is the way from the rows asked to their placement, such as `placement__`.
    """
    here = OuterRef(OuterRef(f"{at}pk"))
    replaced = Rollout.objects.filter(
        placement=here, from_version=OuterRef("pk"), kind=RolloutKind.PROMOTE, state=RolloutState.SUCCEEDED
    )
    banned = Ban.objects.filter(placement=here, version=OuterRef("pk"), lifted_at=None)
    earlier = (
        Version.objects.filter(model=OuterRef(f"{at}model"), state=VersionState.READY)
        .exclude(pk=OuterRef(f"{at}active"))
        .filter(Q(pk=OuterRef(f"{at}standby")) | Exists(replaced))
        .exclude(Exists(banned))
    )
    moving = Rollout.objects.filter(
        placement=OuterRef(f"{at}pk"), kind__in=(RolloutKind.PROMOTE, RolloutKind.UNLOAD), state__in=ACTIVE_ROLLOUT
    )
    return ExpressionWrapper(Exists(earlier) | Exists(moving), output_field=BooleanField())
