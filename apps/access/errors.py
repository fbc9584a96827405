"""What can go wrong between a person or script and what they may do."""

from apps.common.errors import Conflict, ControlPlaneError, Invalid, NotAllowed, NotFound

__all__ = ["NotAllowed"]


class NotSignedIn(ControlPlaneError):
    """Nobody in particular is asking."""

    code = "not_signed_in"
    http_status = 401
    title = "Sign-in needed"
    hint = "Sign in, or send the header 'Authorization: Bearer <token>'."


class TokenInvalid(NotSignedIn):
    """The bearer token is not one of ours, or was revoked."""

    code = "token_invalid"
    title = "The token is not valid"
    hint = "Ask an admin to issue a new token."


class TokenExpired(TokenInvalid):
    """The bearer token was good once."""

    code = "token_expired"
    title = "The token has expired"


class TokenUnknown(NotFound):
    """No token has that id."""

    code = "token_unknown"
    title = "Unknown token"


class UserUnknown(NotFound):
    """No account has that name."""

    code = "user_unknown"
    title = "Unknown user"


class UsernameTaken(Conflict):
    """An account has that name already."""

    code = "username_taken"
    title = "The user name is taken"


class AccountClosed(Conflict):
    """The account was closed."""

    code = "account_closed"
    title = "The account is closed"
    hint = "A closed account stays closed: what it did stands in the audit. Add a new one under another name."


class LastAdmin(Conflict):
    """Without this account nobody could administer Conch any more."""

    code = "last_admin"
    title = "The last admin stays"
    hint = "Make somebody else an admin everywhere first."


class PasswordRefused(Invalid):
    """The password is too weak."""

    code = "password_refused"
    title = "The password is not good enough"


class ScopeUnknown(Invalid):
    """A token was asked for with no scope, or one that does not exist."""

    code = "scope_unknown"
    title = "Unknown token scope"


class RoleUnknown(Invalid):
    """There is no such role."""

    code = "role_unknown"
    title = "Unknown role"


class ExpiryPast(Invalid):
    """A token was asked for that would already have expired."""

    code = "expiry_past"
    title = "The expiry lies in the past"


class IdempotencyKeyInvalid(Invalid):
    """The key cannot be kept."""

    code = "idempotency_key_invalid"
    title = "The Idempotency-Key is not valid"
    hint = "Use 1 to 200 printable ASCII characters, for instance a UUID."


class IdempotencyKeyReused(ControlPlaneError):
    """The key came before, with another request."""

    code = "idempotency_key_reused"
    http_status = 422
    title = "The Idempotency-Key was used for another request"
    hint = "Send a new key with each new request; repeat one only to repeat the request as it was."


class RequestInProgress(Conflict):
    """The first request with this key is still being worked on."""

    code = "request_in_progress"
    retryable = True
    title = "The same request is still in progress"
    hint = "Ask again with the same key in a second."
