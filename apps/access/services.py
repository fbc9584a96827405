"""Who is acting, what they may do, and the tokens, accounts and grants that say so."""

import hashlib
import logging
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from apps.access import selectors
from apps.access.errors import (
    AccountClosed,
    ExpiryPast,
    LastAdmin,
    NotAllowed,
    NotSignedIn,
    PasswordRefused,
    RoleUnknown,
    ScopeUnknown,
    TokenExpired,
    TokenInvalid,
    UsernameTaken,
)
from apps.access.models import EVERYWHERE, ApiToken, Grant
from apps.access.verbs import LOOKING, SCOPES, VERBS, Role, do_scopes_allow, is_enough
from apps.audit import services as audit
from apps.common.actor import Actor, Door
from apps.common.names import check_name

log = logging.getLogger(__name__)
TOKEN_PREFIX = "conch_"  # noqa: S105 - what every token begins with, so that scanners can find leaked ones
USED_EVERY = timedelta(minutes=1)


def may(actor: Actor, verb: str, environment: str = EVERYWHERE) -> bool:
    """Whether `actor` may do `verb` in `environment` (`*`: in all of them at once)."""
    if actor.kind == "system" or actor.is_superuser:
        return verb in VERBS
    if actor.scopes is not None:
        return do_scopes_allow(actor.scopes, verb) and _reaches(actor, verb, environment)
    where = "" if verb in LOOKING else environment
    return any(is_enough(role, verb) for role in selectors.roles(actor.user_id or 0, environment=where))


def require(actor: Actor, verb: str, environment: str = EVERYWHERE) -> None:
    """Nothing when `actor` may do `verb`, else NotAllowed; every service asks this first."""
    if may(actor, verb, environment):
        return
    where = "everywhere" if environment == EVERYWHERE else f"in {environment}"
    where = "anywhere" if verb in LOOKING else where
    log.warning("denied: %s %s may not %s %s (from %s)", actor.kind, actor.name, verb, where, actor.address or "-")
    raise NotAllowed(
        f"{actor.name} may not {verb.replace('_', ' ')} {where}",
        hint=f"It needs the role {VERBS[verb]} {where}; an admin can grant it.",
        verb=verb,
        environment=environment,
        role=str(VERBS[verb]),
    )


def actor_of(user: AbstractBaseUser | AnonymousUser, *, door: Door, address: str) -> Actor:
    """The signed-in person as an actor, or NotSignedIn."""
    if not isinstance(user, User) or not user.is_active:
        raise NotSignedIn("nobody is signed in")
    return Actor(
        kind="user",
        name=user.username,
        door=door,
        user_id=user.pk,
        is_superuser=user.is_superuser,
        address=address,
    )


def authenticate(secret: str, *, address: str) -> Actor:
    """The token's bearer as an actor; TokenInvalid or TokenExpired otherwise."""
    token = ApiToken.objects.filter(digest=digest_of(secret)).first()
    if token is None or token.revoked_at is not None:
        raise TokenInvalid("the bearer token is unknown or was revoked")
    now = timezone.now()
    if token.expires_at is not None and token.expires_at <= now:
        raise TokenExpired(f"token {token.name!r} expired at {token.expires_at:%Y-%m-%d %H:%M} UTC")
    _note_use(token, now=now)
    return Actor(
        kind="token",
        name=token.name,
        door="api",
        token_id=token.pk,
        scopes=frozenset(token.scopes),
        address=address,
        environment=token.environment,
    )


@transaction.atomic
def issue_token(
    actor: Actor,
    *,
    name: str,
    scopes: Iterable[str],
    environment: str = EVERYWHERE,
    expires_at: datetime | None,
) -> tuple[ApiToken, str]:
    """A new token and its secret, which is shown this once; `expires_at` None: until revoked."""
    require(actor, "issue_token", environment)
    check_name(name, what="token")
    wanted = _checked_scopes(scopes)
    _check_environment(environment)
    if expires_at is not None and expires_at <= timezone.now():
        raise ExpiryPast(f"token {name!r}: {expires_at:%Y-%m-%d %H:%M} UTC is over", field="expires_at")
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        name=name,
        digest=digest_of(secret),
        scopes=wanted,
        environment=environment,
        issued_by=actor.name,
        issued_by_kind=actor.kind,
        issued_by_token_id=actor.token_id,
        expires_at=expires_at,
    )
    where = "" if environment == EVERYWHERE else environment
    audit.record(
        actor, "issue_token", subject_kind="token", subject=name, environment=where, token_id=token.pk, scopes=wanted
    )
    return token, secret


@transaction.atomic
def revoke_token(actor: Actor, token_id: int) -> ApiToken:
    """End a token now; revoking twice changes nothing."""
    token = selectors.get_token(token_id)
    require(actor, "revoke_token", token.environment)
    now = timezone.now()
    if ApiToken.objects.filter(pk=token_id, revoked_at=None).update(revoked_at=now):
        token.revoked_at = now
        audit.record(actor, "revoke_token", subject_kind="token", subject=token.name, token_id=token_id)
    return token


@transaction.atomic
def add_user(actor: Actor, *, username: str, password: str, is_superuser: bool = False) -> User:
    """A new account; without a grant it may do nothing yet."""
    require(actor, "add_user")
    check_name(username, what="user")
    user = User(username=username, is_superuser=is_superuser)
    _give_password(user, password)
    try:
        with transaction.atomic():
            user.save()
    except IntegrityError as error:
        raise UsernameTaken(f"user {username!r} exists already", field="username") from error
    audit.record(actor, "add_user", subject_kind="user", subject=username, is_superuser=is_superuser)
    return user


@transaction.atomic
def set_password(actor: Actor, *, username: str, password: str) -> User:
    """A new password for somebody who lost theirs; it ends their sessions. AccountClosed."""
    require(actor, "set_password")
    user = selectors.get_user(username)
    if not user.is_active:
        raise AccountClosed(f"user {username!r} was closed")
    _give_password(user, password)
    user.save(update_fields=["password"])
    audit.record(actor, "set_password", subject_kind="user", subject=username)
    return user


@transaction.atomic
def close_user(actor: Actor, *, username: str) -> User:
    """End an account, its sessions, and the tokens it issued; closing twice changes nothing. LastAdmin."""
    require(actor, "close_user")
    _lock_accounts()
    user = selectors.get_user(username)
    if selectors.is_last_admin(user):
        raise LastAdmin(f"user {username!r} is the only admin")
    if user.is_active:
        user.is_active = False
        # Sessions are bound to the password: without one none is good any more.
        user.set_unusable_password()
        user.save(update_fields=["is_active", "password"])
        ended = list(selectors.tokens_of(username))
        ApiToken.objects.filter(pk__in=[one.pk for one in ended]).update(revoked_at=timezone.now())
        names = [one.name for one in ended]
        audit.record(actor, "close_user", subject_kind="user", subject=username, revoked_tokens=names)
    return user


@transaction.atomic
def grant_role(actor: Actor, *, username: str, role: str, environment: str = EVERYWHERE) -> None:
    """Give a person `role` in `environment`, in place of the one they had there; an empty role takes it away.

    LastAdmin where it would leave nobody who is an admin everywhere.
    """
    require(actor, "grant_role", environment)
    _check_environment(environment)
    if role and role not in set(Role):
        raise RoleUnknown(f"role {role[:40]!r} does not exist", hint=f"Roles: {', '.join(Role)}.", field="role")
    _lock_accounts()
    user = selectors.get_user(username)
    is_stepping_down = environment == EVERYWHERE and role != Role.ADMIN and not user.is_superuser
    if is_stepping_down and selectors.is_last_admin(user):
        raise LastAdmin(f"user {username!r} is the only admin")
    if role:
        Grant.objects.update_or_create(user=user, environment=environment, defaults={"role": role})
    else:
        Grant.objects.filter(user=user, environment=environment).delete()
    audit.record(
        actor, "grant_role", subject_kind="user", subject=username, granted=role or "none", granted_in=environment
    )


def _lock_accounts() -> None:
    """In one order and one at a time, so that two admins cannot end each other's role or account."""
    list(User.objects.select_for_update().filter(is_active=True).order_by("pk").values_list("pk", flat=True))


def _give_password(user: User, password: str) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise PasswordRefused(
            f"user {user.username!r}: the password was refused", hint=" ".join(error.messages), field="password"
        ) from error
    user.set_password(password)


def digest_of(secret: str) -> str:
    """What is kept of a token: random 256 bits need no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _reaches(actor: Actor, verb: str, environment: str) -> bool:
    return verb in LOOKING or actor.environment in {EVERYWHERE, environment}


def _note_use(token: ApiToken, *, now: datetime) -> None:
    """Keep when a token was last used, at most once a minute, so that reading stays reading."""
    if token.last_used_at is None or token.last_used_at < now - USED_EVERY:
        due = Q(last_used_at=None) | Q(last_used_at__lt=now - USED_EVERY)
        ApiToken.objects.filter(due, pk=token.pk).update(last_used_at=now)


def _checked_scopes(scopes: Iterable[str]) -> list[str]:
    wanted = sorted(set(scopes))
    strange = [scope for scope in wanted if scope not in SCOPES]
    if strange or not wanted:
        raise ScopeUnknown(
            f"token scope {strange[0][:40]!r} does not exist" if strange else "a token needs at least one scope",
            hint=f"Scopes: {', '.join(SCOPES)}.",
            field="scopes",
        )
    return wanted


def _check_environment(environment: str) -> None:
    if environment != EVERYWHERE:
        check_name(environment, what="environment")
