"""What tests of fetched versions share."""

import hashlib
from collections.abc import Callable
from datetime import timedelta

from django.utils import timezone

from apps.common.actor import Actor
from apps.registry import services
from apps.registry.models import Fetch, Version
from tests.factories.archives import good, zipped

VIEWER = Actor(kind="token", name="eyes", door="api", token_id=9, scopes=frozenset({"read"}))
CONTENT = zipped(good())
DIGEST = hashlib.sha256(CONTENT).hexdigest()
Ask = Callable[..., Version]


def fetch(version: Version, times: int = 1, **options: float) -> Version:
    """The version after a worker has worked on it; pauses are over at once."""
    for _ in range(times):
        Fetch.objects.update(due_at=timezone.now() - timedelta(seconds=1))
        services.fetch_version(version.pk, now=timezone.now(), **options)
    version.refresh_from_db()
    return version
