"""Who is asking: a bearer token or a session. Sessions need CSRF, tokens do not."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.middleware.csrf import CsrfViewMiddleware
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.plumbing import build_bearer_security_scheme_object
from rest_framework import authentication
from rest_framework.request import Request

from apps.access import services as access
from apps.access.errors import NotSignedIn, TokenInvalid
from apps.api.errors import CHALLENGE, CsrfFailed
from apps.common.actor import Actor


@dataclass(frozen=True, slots=True)
class Bearer:
    """Stands where Django expects a user, for a token."""

    name: str
    is_authenticated: bool = True


def actor_of(request: Request) -> Actor:
    """The authenticated party, or NotSignedIn."""
    if not isinstance(request.auth, Actor):
        raise NotSignedIn("nobody is signed in")
    return request.auth


class TokenAuthentication(authentication.BaseAuthentication):
    """`Authorization: Bearer conch_...`"""

    def authenticate(self, request: Request) -> tuple[Bearer, Actor] | None:
        """The token's bearer and actor; None when there is no such header."""
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if not scheme:
            return None
        if scheme.lower() != "bearer" or not secret.strip():
            raise TokenInvalid("the Authorization header is not 'Bearer <token>'")
        actor = access.authenticate(secret.strip(), address=address_of(request))
        return Bearer(actor.name), actor

    def authenticate_header(self, request: Request) -> str:
        """What a 401 tells clients to send."""
        return CHALLENGE


class SessionAuthentication(authentication.BaseAuthentication):
    """The console's session cookie."""

    def authenticate(self, request: Request) -> tuple[Any, Actor] | None:
        """The signed-in person and their actor; None when nobody is."""
        user = getattr(request._request, "user", AnonymousUser())  # noqa: SLF001 - DRF offers no other way
        if not user.is_authenticated or not user.is_active:
            return None
        _check_csrf(request._request)  # noqa: SLF001
        return user, access.actor_of(user, door="api", address=address_of(request))


def address_of(request: Request) -> str:
    """The client's IP address as the web server saw it."""
    return str(request.META.get("REMOTE_ADDR") or "")


def _check_csrf(request: HttpRequest) -> None:
    check = _HeaderCsrf(_no_answer)
    check.process_request(request)
    reason = check.process_view(request, _no_answer, (), {})
    if reason:
        raise CsrfFailed(str(reason))


def _no_answer(_request: HttpRequest) -> Any:
    """What the CSRF middleware wraps; never called."""
    return None


class _HeaderCsrf(CsrfViewMiddleware):
    """Django's CSRF check, told by the header alone.

    Django's own looks into a POST's form first, which would receive a whole upload before it is known who sends it.
    """

    def _check_token(self, request: HttpRequest) -> None:
        method, request.method = request.method, "PUT"
        try:
            super()._check_token(request)  # type: ignore[misc]
        finally:
            request.method = method

    def _reject(self, request: HttpRequest, reason: str) -> Any:
        return reason


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How OpenAPI tells of the bearer token."""

    target_class = "apps.api.auth.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """An HTTP bearer scheme."""
        return dict(build_bearer_security_scheme_object(header_name="Authorization", token_prefix="Bearer"))  # noqa: S106


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How OpenAPI tells of the session."""

    target_class = "apps.api.auth.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """A cookie; changes also need the header X-CSRFToken."""
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": settings.SESSION_COOKIE_NAME,
            "description": "The console's session. Changes also need the csrftoken cookie's value in X-CSRFToken.",
        }
