"""Errors as RFC 9457 problem details: one shape for everything that can go wrong behind /api/."""

import logging
from collections.abc import Mapping
from typing import Any, ClassVar

from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import DataError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, UnreadablePostError
from django.urls import reverse
from rest_framework import exceptions, status
from rest_framework.response import Response

from apps.access.errors import NotSignedIn
from apps.common.errors import ControlPlaneError, Invalid, NotAllowed, NotFound, ValueUnstorable
from apps.common.text import SHOWN_CHARS, printable

log = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"
CHALLENGE = 'Bearer realm="conch"'
RETRY_AFTER_S = 2
FACTS_SHOWN = 100
FACTS_DEPTH = 6


class BodyUnreadable(Invalid):
    """The body is not what its Content-Type says."""

    code = "body_unreadable"
    title = "The request's body cannot be read"


class BodyTooLarge(ControlPlaneError):
    """The body is longer than this path takes."""

    code = "body_too_large"
    http_status = 413
    title = "The request's body is too large"


class LengthRequired(ControlPlaneError):
    """The body came in chunks, without saying how long it is."""

    code = "length_required"
    http_status = 411
    title = "The body's length is not told"
    hint = "Send Content-Length instead of Transfer-Encoding: chunked."


class CursorInvalid(Invalid):
    """`cursor` is not one that a page gave."""

    code = "cursor_invalid"
    title = "The cursor is not valid"
    hint = "Follow the links `next` and `previous` as they are."


class CsrfFailed(NotAllowed):
    """A session request came without the token that proves it came from one of our pages."""

    code = "csrf_failed"
    title = "The CSRF token is missing or wrong"
    hint = "Send the csrftoken cookie's value in the header X-CSRFToken, or use a bearer token."


class MethodNotAllowed(ControlPlaneError):
    """The path is there, but does not take this method."""

    code = "method_not_allowed"
    http_status = 405
    title = "The path does not take this method"
    hint = "Use one of the methods that the header Allow names; /api/docs/ says what each does."


class MediaTypeUnsupported(ControlPlaneError):
    """The body comes in a format that this path does not take."""

    code = "media_type_unsupported"
    http_status = 415
    title = "The body's media type is not supported"


class NotAcceptable(ControlPlaneError):
    """The answer cannot be given in the format asked for."""

    code = "not_acceptable"
    http_status = 406
    title = "The answer comes in JSON only"


class DatabaseUnavailable(ControlPlaneError):
    """The database did not answer, or was busy for too long."""

    code = "database_unavailable"
    http_status = 503
    retryable = True
    title = "The database is not available"


class InternalError(ControlPlaneError):
    """A defect in Conch."""

    code = "internal_error"
    title = "Conch itself failed"
    hint = "This is a defect in Conch: the web server's log has the details."


class FieldsInvalid(Invalid):
    """Fields of the body or query are missing, unknown or wrong; `errors` lists each."""

    code: ClassVar[str] = "fields_invalid"


def handle(error: Exception, context: dict[str, Any]) -> Response:
    """The answer to anything a view raised; a traceback goes to the log only."""
    request = context.get("request")
    path = str(getattr(request, "path", ""))
    known = error if isinstance(error, ControlPlaneError) else _translate(error)
    if isinstance(known, InternalError):
        log.exception("%s %s failed", getattr(request, "method", "-"), path, exc_info=error)
    answer = Response(problem(known, instance=path), status=known.http_status, content_type=MEDIA_TYPE)
    if isinstance(error, exceptions.MethodNotAllowed):
        answer["Allow"] = ", ".join(getattr(context.get("view"), "allowed_methods", []))
    return _with_headers(answer, known)


def handle_outside(request: HttpRequest, error: Exception) -> HttpResponse:
    """The same answer to what was raised before a view was reached, by the session say."""
    told = handle(error, {"request": request})
    headers = {name: value for name, value in told.headers.items() if name != "Content-Type"}
    return JsonResponse(told.data, status=told.status_code, content_type=MEDIA_TYPE, headers=headers)


def problem(error: ControlPlaneError, *, instance: str = "") -> dict[str, Any]:
    """The problem document: RFC 9457's members, and ours: code, hint, retryable, errors, facts."""
    facts = dict(error.facts)
    return {
        "type": reverse("api:problem", kwargs={"code": error.code}),
        "title": error.title,
        "status": error.http_status,
        "detail": printable(error.message, limit=SHOWN_CHARS),
        "instance": instance,
        "code": error.code,
        "hint": printable(error.hint, limit=SHOWN_CHARS),
        "retryable": error.retryable,
        "errors": facts.pop("errors", None) or _one_error(error),
        "facts": json_safe(facts),
    }


def json_safe(value: Any, *, depth: int = 0) -> Any:
    """`value` as JSON can hold it: text cut and printable, long and deep things cut."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if depth >= FACTS_DEPTH or not isinstance(value, Mapping | list | tuple | set | frozenset):
        return printable(str(value), limit=SHOWN_CHARS)
    if isinstance(value, Mapping):
        pairs = list(value.items())[:FACTS_SHOWN]
        return {printable(str(key), limit=200): json_safe(item, depth=depth + 1) for key, item in pairs}
    items = sorted(value, key=str) if isinstance(value, set | frozenset) else list(value)
    return [json_safe(item, depth=depth + 1) for item in items[:FACTS_SHOWN]]


def _one_error(error: ControlPlaneError) -> list[dict[str, str]]:
    field = str(error.facts.get("field", ""))
    return [{"field": field, "message": printable(error.message, limit=SHOWN_CHARS)}] if field else []


def _with_headers(answer: Response, error: ControlPlaneError) -> Response:
    if error.http_status == status.HTTP_401_UNAUTHORIZED:
        answer["WWW-Authenticate"] = CHALLENGE + ("" if type(error) is NotSignedIn else ', error="invalid_token"')
    if error.retryable:
        answer["Retry-After"] = str(RETRY_AFTER_S)
    return answer


def _translate(error: Exception) -> ControlPlaneError:
    """Django's and DRF's errors as ours; anything else is a defect."""
    if isinstance(error, exceptions.ValidationError):
        return _fields_invalid(error)
    for kind, ours in _OURS:
        if isinstance(error, kind):
            known = ours(_words(error))
            known.__cause__ = error
            return known
    return InternalError("the request could not be answered")


_OURS: tuple[tuple[type[Exception], type[ControlPlaneError]], ...] = (
    (exceptions.ParseError, BodyUnreadable),
    (exceptions.AuthenticationFailed, NotSignedIn),
    (exceptions.NotAuthenticated, NotSignedIn),
    (exceptions.PermissionDenied, NotAllowed),
    (exceptions.NotFound, NotFound),
    (exceptions.MethodNotAllowed, MethodNotAllowed),
    (exceptions.NotAcceptable, NotAcceptable),
    (exceptions.UnsupportedMediaType, MediaTypeUnsupported),
    (PermissionDenied, NotAllowed),
    (Http404, NotFound),
    (RequestDataTooBig, BodyTooLarge),
    (SuspiciousOperation, BodyUnreadable),
    (BadRequest, BodyUnreadable),
    (UnreadablePostError, BodyUnreadable),
    (RecursionError, BodyUnreadable),
    (DataError, ValueUnstorable),
    (OperationalError, DatabaseUnavailable),
    (InterfaceError, DatabaseUnavailable),
)


def _words(error: Exception) -> str:
    if isinstance(error, OperationalError | InterfaceError):
        return "the database did not answer, or was busy for too long"
    if isinstance(error, DataError):
        return "the database cannot store one of the values"
    return str(getattr(error, "detail", "") or error or "there is nothing at this path")


def _fields_invalid(error: exceptions.ValidationError) -> FieldsInvalid:
    errors = list(_flatten(error.detail, ""))
    first = f"{errors[0]['field']}: {errors[0]['message']}" if errors else "the request is not valid"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return FieldsInvalid(first + more, errors=errors[:FACTS_SHOWN])


def _flatten(detail: Any, path: str) -> Any:
    """DRF's nested error lists as {field, message}, with a dotted path."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            yield from _flatten(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(detail, list):
        nested = any(isinstance(inner, Mapping | list) for inner in detail)
        for position, inner in enumerate(detail):
            yield from _flatten(inner, f"{path}.{position}" if nested else path)
    else:
        yield {"field": printable(path, limit=SHOWN_CHARS), "message": printable(str(detail), limit=SHOWN_CHARS)}
