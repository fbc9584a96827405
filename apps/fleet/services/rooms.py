"""How much room repositories have left, read in the round that observes their servers."""

from datetime import datetime, timedelta

from apps.common.errors import ControlPlaneError
from apps.fleet.models import Repository
from apps.fleet.repositories import Home

# What stands nearly still is written this seldom.
WRITTEN_EVERY = timedelta(seconds=60)
MOVED = 0.01


class Rooms:
    """What was free in each repository, read once for all the servers that take their models from it."""

    def __init__(self) -> None:
        self._read: dict[int, tuple[Repository, int]] = {}

    def read(self, repository: Repository, home: Home) -> None:
        """Where that cannot be told, the last reading grows old, and counts no longer."""
        if repository.pk in self._read:
            return
        try:
            free = home.free_bytes()
        except ControlPlaneError:
            return
        if free is not None:
            self._read[repository.pk] = (repository, free)

    def keep(self, *, now: datetime) -> None:
        """Write what has moved, and each once in a while: a reading tells how old it is."""
        for repository, free in list(self._read.values()):
            if _is_news(repository, free, now=now):
                Repository.objects.filter(pk=repository.pk).update(free_bytes=free, free_at=now)


def _is_news(repository: Repository, free: int, *, now: datetime) -> bool:
    if repository.free_bytes is None or repository.free_at is None:
        return True
    has_moved = abs(free - repository.free_bytes) > MOVED * repository.free_bytes
    return has_moved or now - repository.free_at >= WRITTEN_EVERY
