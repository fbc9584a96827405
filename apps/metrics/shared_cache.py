"""The cache all processes share: what one was told the others need not ask."""

import logging
from collections.abc import Callable
from time import monotonic

from django.core.cache import cache
from redis.exceptions import RedisError

from apps.metrics.continuing import Known

CACHE_REST_S = 10.0
# Changes with what is kept: a process of another release must not be given what it cannot read.
_PREFIX = "known"
_log = logging.getLogger(__name__)


class SharedCache:
    """Prometheus's answers in it; without it each process keeps its own only."""

    def __init__(self) -> None:
        self._rests_until = 0.0

    def get(self, key: str) -> Known | None:
        """What another process was told, if anything."""
        found = self._try(lambda: cache.get(f"{_PREFIX}:{key}"))
        return found if isinstance(found, Known) else None

    def put(self, key: str, known: Known, *, keep_s: int) -> None:
        """Let the other processes know."""
        self._try(lambda: cache.set(f"{_PREFIX}:{key}", known, keep_s))

    def _try(self, use: Callable[[], object]) -> object:
        if monotonic() < self._rests_until:
            return None
        try:
            return use()
        except (RedisError, OSError) as error:
            self._rests_until = monotonic() + CACHE_REST_S
            _log.warning("the shared cache does not answer (%s): charts do without it", error)
            return None
