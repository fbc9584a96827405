"""The right to work on one row, held by the value in it; renewed while the work goes on.

Where tries are counted, one that never came to an end (its holder was lost, or broke) is told from one that did.
"""

from datetime import datetime, timedelta
from typing import Any, Self

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from apps.common.due import is_free

# Work is begun once; again only when its worker was lost or broke.
MOST_TRIES = 5


class LeaseLost(Exception):
    """The lease ran out and somebody else has taken the row."""


def lease_time() -> timedelta:
    """How long a holder may be silent."""
    return timedelta(seconds=settings.CONCH["lease_s"])


class Lease:
    """Held by whoever wrote `lease_until` last; `counting` names the field that holds the tries without an end."""

    def __init__(self, rows: QuerySet[Any], until: datetime, lasts: timedelta, *, counting: str = "") -> None:
        self._rows = rows
        self._until = until
        self._lasts = lasts
        self._counting = counting

    @classmethod
    def claim(
        cls,
        rows: QuerySet[Any],
        condition: Q,
        *,
        now: datetime,
        at_least_s: float = 0,
        counting: str = "",
        **fields: Any,
    ) -> Self | None:
        """The lease on the one row there, None when it does not fit `condition` or somebody holds it.

        `at_least_s` is for work that waits for others for longer than the usual lease; `fields` are kept with it.
        """
        lasts = max(lease_time(), timedelta(seconds=at_least_s))
        until = now + lasts
        counted = {counting: F(counting) + 1} if counting else {}
        is_mine = rows.filter(condition & is_free(now)).update(lease_until=until, **counted, **fields)
        return cls(rows, until, lasts, counting=counting) if is_mine else None

    @property
    def is_worn_out(self) -> bool:
        """Whether so many tries came to no end that another one is no use."""
        return self._rows.filter(**{f"{self._counting}__gt": MOST_TRIES}).exists()

    @property
    def is_due(self) -> bool:
        """Whether a third of it is used: time to renew it, and to keep what was done."""
        return timezone.now() >= self._until - self._lasts * 2 / 3

    def renew(self, **fields: Any) -> None:
        """Keep `fields` and hold on for another while, or LeaseLost."""
        until = timezone.now() + self._lasts
        self._update(lease_until=until, **fields)
        self._until = until

    def release(self, *, again_at: datetime | None = None, **fields: Any) -> None:
        """Keep `fields` and let go, or LeaseLost: this try came to an end. Nobody takes the row before `again_at`."""
        counted = {self._counting: 0} if self._counting else {}
        self._update(lease_until=again_at, **counted, **fields)

    def let_go(self, **fields: Any) -> None:
        """As `release`, by somebody who has failed already and does not mind who holds the row."""
        self._rows.filter(lease_until=self._until).update(lease_until=None, **fields)

    def _update(self, **fields: Any) -> None:
        if not self._rows.filter(lease_until=self._until).update(**fields):
            raise LeaseLost
