"""Cursor pagination: stable while rows come in."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from rest_framework import exceptions, pagination
from rest_framework.request import Request

from apps.api.errors import CursorInvalid


class CursorPagination(pagination.CursorPagination):
    """Pages of 50, up to 500 with `limit`; `next` and `previous` are links."""

    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 500
    ordering: Any = "-pk"

    def decode_cursor(self, request: Request) -> Any:
        """The cursor, or CursorInvalid."""
        try:
            return super().decode_cursor(request)
        except exceptions.NotFound as error:
            raise CursorInvalid(f"cursor {request.query_params.get('cursor', '')[:80]!r} is not valid") from error


def page_of(rows: QuerySet[Any], request: Request, *, ordering: Sequence[str]) -> tuple[list[Any], CursorPagination]:
    """The page that was asked for, and the paginator that knows its links."""
    paginator = CursorPagination()
    paginator.ordering = tuple(ordering)
    return list(paginator.paginate_queryset(rows, request) or []), paginator
