"""The right to work on one row, held by the value in it; renewed while the work goes on."""

from datetime import datetime, timedelta
from typing import Any, Self

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.common.due import is_free

FREE_FIELD = "lease_until"


class LeaseLost(Exception):
    """The lease ran out and somebody else has taken the row."""


def lease_time() -> timedelta:
    """How long a holder may be silent."""
    return timedelta(seconds=settings.CONCH["lease_s"])


class Lease:
    """Held by whoever wrote `lease_until` last."""

    def __init__(self, rows: QuerySet[Any], until: datetime, lasts: timedelta) -> None:
        self._rows = rows
        self._until = until
        self._lasts = lasts

    @classmethod
    def claim(cls, rows: QuerySet[Any], condition: Q, *, now: datetime, at_least_s: float = 0) -> Self | None:
        """The lease on the one row there, None when it does not fit `condition` or somebody holds it.

        `at_least_s` is for work that waits for others for longer than the usual lease.
        """
        lasts = max(lease_time(), timedelta(seconds=at_least_s))
        until = now + lasts
        return cls(rows, until, lasts) if rows.filter(condition & is_free(now)).update(lease_until=until) else None

    @property
    def is_due(self) -> bool:
        """Whether a third of it is used: time to renew it, and to keep what was done."""
        return timezone.now() >= self._until - self._lasts * 2 / 3

    def renew(self, **fields: Any) -> None:
        """Keep `fields` and hold on for another while, or LeaseLost."""
        until = timezone.now() + self._lasts
        self._update(lease_until=until, **fields)
        self._until = until

    def release(self, **fields: Any) -> None:
        """Keep `fields` and let go, or LeaseLost."""
        self._update(lease_until=None, **fields)

    def let_go(self, **fields: Any) -> None:
        """As `release`, by somebody who has failed already and does not mind who holds the row."""
        self._rows.filter(lease_until=self._until).update(lease_until=None, **fields)

    def _update(self, **fields: Any) -> None:
        if not self._rows.filter(lease_until=self._until).update(**fields):
            raise LeaseLost
