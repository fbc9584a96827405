"""Taking versions out of use."""

from django.db import transaction
from django.db.models import Q

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.common.transitions import move
from apps.deployments.errors import VersionInUse
from apps.deployments.models import Placement
from apps.deployments.selectors.rollouts import rollouts
from apps.registry import selectors as registry
from apps.registry.models import Version
from apps.registry.states import VersionState


def archive_version(actor: Actor, *, model: str, version: int, reason: str = "") -> Version:
    """Make a version unpromotable, unless it is live, kept hot or on its way somewhere."""
    require(actor, "archive_version")
    chosen = registry.get_version(model, version)
    holders = Placement.objects.filter(Q(active=chosen) | Q(standby=chosen)).select_related("environment", "model")
    moving = rollouts(active=True).filter(Q(to_version=chosen) | Q(from_version=chosen))
    held_by = [str(placement) for placement in holders] + [str(rollout) for rollout in moving]
    if held_by:
        raise VersionInUse(f"{chosen} is held by {', '.join(held_by)}", held_by=held_by)
    with transaction.atomic():
        move(chosen, VersionState.ARCHIVED)
        record(actor, "archive_version", subject_kind="version", subject=str(chosen), model=model, reason=reason)
    return chosen
