"""Versions that somebody gives up before they are checked."""

from django.db import transaction

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.common.keeping import error_document
from apps.common.transitions import try_move
from apps.registry import artifacts, selectors
from apps.registry.errors import NothingToDiscard, VersionDiscarded
from apps.registry.models import Fetch, Version
from apps.registry.states import VersionState

GIVEN_UP_FROM = (VersionState.FETCHING, VersionState.CHOOSING)


def discard_version(actor: Actor, *, model: str, number: int, reason: str = "") -> Version:
    """End a version that is still fetched, or waits for a choice: rejected, its bytes dropped, its number free."""
    require(actor, "add_version")
    found = selectors.get_version(model, number)
    require_discardable(found)
    with transaction.atomic():
        # In the order of whoever fetches, who finds its lease gone.
        Fetch.objects.filter(version_id=found.pk).delete()
        version = Version.objects.select_for_update(of=("self",)).select_related("model").get(pk=found.pk)
        require_discardable(version)
        error = VersionDiscarded(f"{actor.name} discarded {version} while it was {version.state}")
        try_move(version, VersionState.REJECTED, error=error_document(error), choices=[], choose_until=None)
        record(actor, "discard_version", subject_kind="version", subject=str(version), model=model, reason=reason)
    artifacts.drop_incoming(selectors.store(), version.incoming)
    return version


def require_discardable(version: Version) -> None:
    """NothingToDiscard unless the version is still fetched, or waits for a choice."""
    if version.state not in GIVEN_UP_FROM:
        raise NothingToDiscard(f"{version} is {version.state}: there is nothing to discard", state=version.state)
