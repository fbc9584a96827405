"""Taking versions out of use."""

from django.db import transaction

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.common.transitions import move
from apps.deployments.errors import VersionInUse
from apps.deployments.selectors.retention import holders
from apps.registry import selectors as registry
from apps.registry.models import Version
from apps.registry.states import VersionState


def archive_version(actor: Actor, *, model: str, version: int, reason: str = "") -> Version:
    """Make a version unpromotable, unless it is live, kept hot, aliased or on its way somewhere.

    Who holds it is looked up under the version's lock: a promotion that begins meanwhile takes it too.
    """
    require(actor, "archive_version")
    chosen = registry.get_version(model, version)
    with transaction.atomic():
        Version.objects.select_for_update().only("pk").get(pk=chosen.pk)
        held_by = holders([chosen], is_strict=False).get(chosen.pk)
        if held_by:
            raise VersionInUse(f"{chosen} is held by {', '.join(held_by)}", held_by=held_by)
        move(chosen, VersionState.ARCHIVED)
        record(actor, "archive_version", subject_kind="version", subject=str(chosen), model=model, reason=reason)
    return chosen
