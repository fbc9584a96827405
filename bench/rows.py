"""Rows by the hundred. Runs inside Django."""

from collections.abc import Iterable
from typing import TypeVar

from django.db.models import Model as Row

R = TypeVar("R", bound=Row)


def create_all(kind: type[R], rows: Iterable[R]) -> None:
    """Insert them, a few hundred in a statement."""
    kind._default_manager.bulk_create(rows, batch_size=500)  # noqa: SLF001 - the only name that every model has
