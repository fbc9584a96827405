"""How an endpoint is told of in OpenAPI: what it takes, gives and refuses, beside its code."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, inline_serializer
from rest_framework import serializers

from apps.access.errors import IdempotencyKeyInvalid, IdempotencyKeyReused, NotSignedIn, RequestInProgress, TokenExpired
from apps.api.errors import (
    MEDIA_TYPE,
    BodyTooLarge,
    BodyUnreadable,
    CsrfFailed,
    CursorInvalid,
    DatabaseUnavailable,
    FieldsInvalid,
    InternalError,
    LengthRequired,
)
from apps.api.shapes.common import ProblemShape
from apps.common.errors import ControlPlaneError, NotAllowed

View = TypeVar("View", bound=Callable[..., Any])
Errors = Iterable[type[ControlPlaneError]]
Kind = type[serializers.BaseSerializer[Any]]

ALWAYS: tuple[type[ControlPlaneError], ...] = (
    NotSignedIn,
    TokenExpired,
    NotAllowed,
    DatabaseUnavailable,
    InternalError,
)
WITH_BODY: tuple[type[ControlPlaneError], ...] = (FieldsInvalid, BodyUnreadable, BodyTooLarge, LengthRequired)
IDEMPOTENT: tuple[type[ControlPlaneError], ...] = (IdempotencyKeyInvalid, IdempotencyKeyReused, RequestInProgress)
KEY = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="Repeating a request with its key gives the first answer again and does nothing twice. Kept 24 hours.",
)
_NOT_WORDS = re.compile(r"[^a-z]+")
PAGING = (
    OpenApiParameter("cursor", OpenApiTypes.STR, description="From `next` or `previous`."),
    OpenApiParameter("limit", OpenApiTypes.INT, description="Rows in a page: 50, at most 500."),
)


def described(
    summary: str,
    *,
    gives: Kind | None,
    gives_text: str = "",
    status: int = 200,
    takes: Kind | OpenApiTypes | None = None,
    media_type: str = "application/json",
    filters: Kind | None = None,
    is_page: bool = False,
    is_list: bool = False,
    errors: Errors = (),
    headers: Iterable[OpenApiParameter] = (),
    or_json: Kind | None = None,
) -> Callable[[View], View]:
    """Put a view method into the description; its docstring is the longer text.

    `gives_text` is the media type of an answer that is text.
    """

    def wrap(view: View) -> View:
        is_idempotent = getattr(view, "is_idempotent", False)
        parameters: list[Any] = [*headers, *([filters] if filters else []), *(PAGING if is_page else [])]
        refusals = [*ALWAYS, *errors]
        if takes or view.__name__ in {"post", "put", "patch", "delete"}:
            refusals.append(CsrfFailed)
        refusals += WITH_BODY if takes else [FieldsInvalid] if filters else []
        refusals += [CursorInvalid] if is_page else []
        if is_idempotent:
            parameters.append(KEY)
            refusals += IDEMPOTENT
        told = extend_schema(
            operation_id=_NOT_WORDS.sub("_", summary.lower()).strip("_"),
            summary=summary,
            request=_bodies(takes, media_type, or_json),
            parameters=parameters,
            responses={
                **({(status, gives_text): OpenApiTypes.STR} if gives_text else {}),
                **({} if gives_text else {status: _answer(gives, is_page=is_page, is_list=is_list)}),
                **_refusals(refusals),
            },
        )
        return told(view)

    return wrap


def _bodies(takes: Kind | OpenApiTypes | None, media_type: str, or_json: Kind | None) -> dict[str, Any] | None:
    """What may be sent, by media type."""
    if takes is None:
        return None
    return {media_type: takes} | ({"application/json": or_json} if or_json else {})


def _answer(gives: Kind | None, *, is_page: bool, is_list: bool) -> Any:
    if gives is None:
        return OpenApiResponse(description="Done.")
    if is_list:
        return gives(many=True)
    if not is_page:
        return gives
    return inline_serializer(
        f"{gives.__name__.removesuffix('Shape')}Page",
        {
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
            "results": gives(many=True),
        },
    )


def _refusals(errors: Errors) -> dict[Any, OpenApiResponse]:
    """One response per status, naming every code that comes with it."""
    by_status: dict[int, dict[str, str]] = defaultdict(dict)
    for error in errors:
        by_status[error.http_status][error.code] = error.title
    return {
        (status, MEDIA_TYPE): OpenApiResponse(
            ProblemShape, description="\n".join(f"- `{code}`: {title}" for code, title in sorted(codes.items()))
        )
        for status, codes in sorted(by_status.items())
    }
