"""Who is asking, tokens, accounts and grants."""

from datetime import timedelta

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from apps.access import errors, selectors, services
from apps.access.verbs import VERBS
from apps.api.described import described
from apps.api.doors import ApiView, asked
from apps.api.shapes.access import (
    CallerShape,
    GrantSetting,
    IssuedTokenShape,
    PasswordSetting,
    TokenRequest,
    TokenShape,
    UserAddition,
    UserShape,
)
from apps.common.names import BadName


class Me(ApiView):
    """The caller."""

    @described("Who is asking, and what they may do", gives=CallerShape)
    def get(self, request: Request) -> Response:
        """The caller as Conch knows it, with the verbs it may use everywhere."""
        actor = self.actor()
        verbs = sorted(verb for verb in VERBS if services.may(actor, verb))
        shown = {
            "kind": actor.kind,
            "name": actor.name,
            "is_superuser": actor.is_superuser,
            "scopes": None if actor.scopes is None else sorted(actor.scopes),
            "environment": actor.environment,
            "verbs": verbs,
        }
        return Response(self.shape(CallerShape, shown))


class Tokens(ApiView):
    """API tokens; for admins."""

    looks = "issue_token"

    @described("List tokens", gives=TokenShape, is_page=True)
    def get(self, request: Request) -> Response:
        """Every token ever issued, newest first; never a secret."""
        return self.page(selectors.tokens(), TokenShape, ordering=["-pk"])

    @described(
        "Issue a token",
        takes=TokenRequest,
        gives=IssuedTokenShape,
        status=201,
        errors=[BadName, errors.ScopeUnknown, errors.ExpiryPast],
    )
    def post(self, request: Request) -> Response:
        """A new token. `secret` is in this answer only, which is why it takes no Idempotency-Key."""
        wanted = asked(TokenRequest, request)
        days = wanted.pop("expires_in_days")
        expires_at = None if days is None else timezone.now() + timedelta(days=days)
        token, secret = services.issue_token(self.actor(), expires_at=expires_at, **wanted)
        return self.created({**self.shape(TokenShape, token), "secret": secret})


class Token(ApiView):
    """One token."""

    looks = "issue_token"

    @described("Get a token", gives=TokenShape, errors=[errors.TokenUnknown])
    def get(self, request: Request, token_id: int) -> Response:
        """The token without its secret."""
        return Response(self.shape(TokenShape, selectors.get_token(token_id)))

    @described("Revoke a token", gives=TokenShape, errors=[errors.TokenUnknown])
    def delete(self, request: Request, token_id: int) -> Response:
        """It ends at once; its row stays for the audit."""
        return Response(self.shape(TokenShape, services.revoke_token(self.actor(), token_id)))


class Users(ApiView):
    """Accounts; for admins."""

    looks = "grant_role"

    @described("List accounts", gives=UserShape, is_page=True)
    def get(self, request: Request) -> Response:
        """Accounts with their grants, by name."""
        return self.page(selectors.users(), UserShape, ordering=["username"])

    @described(
        "Add an account",
        takes=UserAddition,
        gives=UserShape,
        status=201,
        errors=[BadName, errors.UsernameTaken, errors.PasswordRefused],
    )
    def post(self, request: Request) -> Response:
        """A new account, which may do nothing until a role is granted to it."""
        return self.created(self.shape(UserShape, services.add_user(self.actor(), **asked(UserAddition, request))))


class User(ApiView):
    """One account."""

    looks = "grant_role"

    @described("Get an account", gives=UserShape, errors=[errors.UserUnknown])
    def get(self, request: Request, username: str) -> Response:
        """The account with its grants."""
        return Response(self.shape(UserShape, selectors.get_user(username)))

    @described("Close an account", gives=UserShape, errors=[errors.UserUnknown, errors.LastAdmin])
    def delete(self, request: Request, username: str) -> Response:
        """For good: its sessions end, and the tokens it issued. Its row stays for the audit."""
        return Response(self.shape(UserShape, services.close_user(self.actor(), username=username)))


class Password(ApiView):
    """A person's password."""

    @described(
        "Set a password",
        takes=PasswordSetting,
        gives=UserShape,
        errors=[errors.UserUnknown, errors.AccountClosed, errors.PasswordRefused],
    )
    def put(self, request: Request, username: str) -> Response:
        """For somebody who lost theirs; it ends their sessions."""
        set_to = asked(PasswordSetting, request)
        return Response(self.shape(UserShape, services.set_password(self.actor(), username=username, **set_to)))


class Grant(ApiView):
    """A person's role in one environment, or everywhere (`*`)."""

    @described(
        "Grant a role",
        takes=GrantSetting,
        gives=UserShape,
        errors=[BadName, errors.UserUnknown, errors.RoleUnknown, errors.LastAdmin],
    )
    def put(self, request: Request, username: str, environment: str) -> Response:
        """In place of the role the person had there."""
        return self._set(username, environment, asked(GrantSetting, request)["role"])

    @described("Take a role away", gives=UserShape, errors=[BadName, errors.UserUnknown, errors.LastAdmin])
    def delete(self, request: Request, username: str, environment: str) -> Response:
        """The person keeps the roles they have elsewhere."""
        return self._set(username, environment, "")

    def _set(self, username: str, environment: str, role: str) -> Response:
        services.grant_role(self.actor(), username=username, role=role, environment=environment)
        return Response(self.shape(UserShape, selectors.get_user(username)))
