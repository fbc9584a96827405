"""Bytes in the artifact store that no version has any more."""

from functools import partial

from django.db import transaction

from apps.registry import artifacts, selectors
from apps.registry.models import Artifact, Upload, Version
from apps.registry.states import WAITING_UPLOADS, VersionState

UNSEALED = (VersionState.FETCHING, VersionState.RECEIVED, VersionState.CHECKING, VersionState.CHOOSING)


def sweep_store() -> None:
    """Remove old leftovers in the artifact store that nobody waits for; a StoreBroken says why it could not."""
    store = selectors.store()
    with artifacts.faults(store, doing="removing leftovers"):
        artifacts.sweep(store, keep_incoming=_awaited())


def leftover_bytes() -> int:
    """What `sweep_store` would free."""
    return sum(artifacts.leftovers(selectors.store(), keep_incoming=_awaited()).values())


def _awaited() -> set[str]:
    """Received files that a version or an upload still waits for."""
    return {
        *Version.objects.filter(state__in=UNSEALED).values_list("incoming", flat=True),
        *Upload.objects.filter(state__in=WAITING_UPLOADS).values_list("key", flat=True),
    }


def orphaned_artifacts() -> dict[str, int]:
    """Sealed bytes that no row knows: digest and size of each."""
    store = selectors.store()
    return artifacts.orphans(store, known=selectors.known_digests()) if store.is_dir() else {}


def sweep_artifacts() -> int:
    """Forget artifacts that no version has any more, then remove bytes that no row knows; how many went."""
    for artifact_id in list(Artifact.objects.filter(versions__isnull=True).values_list("pk", flat=True)):
        with transaction.atomic():
            # A version that is accepted right now holds the row by its foreign key: it is waited for, and seen.
            list(Artifact.objects.select_for_update().filter(pk=artifact_id).values_list("pk"))
            Artifact.objects.filter(pk=artifact_id, versions__isnull=True).delete()
    store = selectors.store()
    found = orphaned_artifacts()
    return sum(artifacts.take_away(store, digest, is_wanted=partial(_is_known, digest)) for digest in found)


def _is_known(digest: str) -> bool:
    return digest in selectors.known_digests()
