"""Cursor pagination: stable while rows come in."""

from rest_framework import pagination


class CursorPagination(pagination.CursorPagination):
    """Pages of 50, up to 500 with `limit`; `next` and `previous` are links."""

    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 500
    ordering = "-pk"
