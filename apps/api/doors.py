"""What every REST view shares: who asks, how bodies are read, how lists and changes are answered."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from django.conf import settings
from django.db.models import QuerySet
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.access import services as access
from apps.access.verbs import VIEW
from apps.api.auth import actor_of
from apps.api.errors import BodyTooLarge, LengthRequired
from apps.api.pagination import page_of
from apps.common.actor import Actor

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_NUMBER = re.compile(r"[0-9]{1,18}")


class ApiView(APIView):
    """A REST view: translate in, one call, translate out.

    `looks` is the verb that reading needs; changes are checked by the service they call.
    """

    looks: ClassVar[str] = VIEW
    http_method_names = ["get", "post", "put", "patch", "delete", "head", "options"]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse what is too large before reading it, then ask who is there and whether they may look."""
        self.check_length(request)
        super().initial(request, *args, **kwargs)
        if request.method in SAFE:
            access.require(actor_of(request), self.looks)

    def check_length(self, request: Request) -> None:
        """BodyTooLarge when the announced length is over the limit, LengthRequired when there is none."""
        if request.headers.get("Transfer-Encoding") and not request.META.get("CONTENT_LENGTH"):
            raise LengthRequired(f"{request.path[:200]}: the body came in chunks")
        if _length(request) > self.body_limit_bytes():
            raise self.too_long(request)

    def body_limit_bytes(self) -> int:
        """The longest body this view takes."""
        return int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0)

    def too_long(self, request: Request) -> Exception:
        """What a longer one is refused with."""
        sent, limit = _length(request), self.body_limit_bytes()
        return BodyTooLarge(f"the body has {sent:,} bytes, the limit is {limit:,}", limit_bytes=limit, size_bytes=sent)

    def actor(self) -> Actor:
        """Who is asking."""
        return actor_of(self.request)

    def shape(self, kind: type[serializers.BaseSerializer[Any]], row: Any, **more: Any) -> Any:
        """A row as it goes over the wire."""
        return kind(row, context={"request": self.request}, **more).data

    def page(
        self, rows: QuerySet[Any], kind: type[serializers.BaseSerializer[Any]], *, ordering: Sequence[str]
    ) -> Response:
        """One page of rows with links to its neighbours."""
        found, paginator = page_of(rows, self.request, ordering=ordering)
        return paginator.get_paginated_response(self.shape(kind, found, many=True))

    def started(self, document: dict[str, Any]) -> Response:
        """202: it has begun; `Location` is where to look."""
        return Response(document, status=status.HTTP_202_ACCEPTED, headers={"Location": document["url"]})

    def created(self, document: dict[str, Any]) -> Response:
        """201: it is there."""
        headers = {"Location": document["url"]} if document.get("url") else {}
        return Response(document, status=status.HTTP_201_CREATED, headers=headers)


def asked(kind: type[serializers.Serializer[Any]], request: Request, *, is_partial: bool = False) -> dict[str, Any]:
    """The request's body as `kind` says, or a ValidationError that lists every fault."""
    reader = kind(data=request.data, partial=is_partial)
    reader.is_valid(raise_exception=True)
    return dict(reader.validated_data)


def filters(kind: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    """The query's documented parameters; unknown ones are left alone."""
    reader = kind(data={name: value for name, value in request.query_params.items() if value})
    reader.is_valid(raise_exception=True)
    return dict(reader.validated_data)


def _length(request: Request) -> int:
    announced = str(request.META.get("CONTENT_LENGTH") or "0")
    return int(announced) if _NUMBER.fullmatch(announced) else 0
