"""Who may do what, where."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.utils import timezone

from apps.access import selectors, services
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
    TokenUnknown,
    UsernameTaken,
    UserUnknown,
)
from apps.access.models import ApiToken
from apps.audit import selectors as audit
from apps.common.actor import CLOCK, COMMAND, Actor
from apps.common.names import BadName

pytestmark = pytest.mark.django_db
Person = Callable[..., Actor]
Script = Callable[..., Actor]


def tomorrow() -> datetime:
    return timezone.now() + timedelta(days=1)


def test_a_role_counts_in_its_environment_only(person: Person) -> None:
    alice = person("alice", {"staging": "operator"})

    assert services.may(alice, "promote", "staging")
    assert not services.may(alice, "promote", "prod")
    assert not services.may(alice, "promote")


def test_a_role_given_everywhere_counts_everywhere(person: Person) -> None:
    alice = person("alice", {"*": "operator"})

    assert services.may(alice, "promote", "prod")
    assert services.may(alice, "register_model")
    assert not services.may(alice, "add_server", "prod")


def test_the_higher_of_two_roles_counts(person: Person) -> None:
    alice = person("alice", {"*": "viewer", "prod": "admin"})

    assert services.may(alice, "add_server", "prod")
    assert not services.may(alice, "promote", "staging")


def test_whoever_may_look_anywhere_may_look_everywhere(person: Person) -> None:
    alice = person("alice", {"staging": "viewer"})

    assert services.may(alice, "view", "prod")


def test_an_account_without_a_grant_sees_nothing(person: Person) -> None:
    assert not services.may(person("new", {}), "view")


def test_a_superuser_and_the_clock_may_do_everything(db: None) -> None:
    root = services.add_user(COMMAND, username="root", password="correct horse battery", is_superuser=True)
    actor = services.actor_of(root, door="console", address="")

    assert services.may(actor, "add_user")
    assert services.may(CLOCK, "roll_back", "prod")


def test_a_refusal_names_who_what_and_where(person: Person) -> None:
    alice = person("alice", {"staging": "operator"})

    with pytest.raises(NotAllowed, match="alice may not roll back in prod") as refused:
        services.require(alice, "roll_back", "prod")

    assert "operator" in refused.value.hint


def test_a_role_can_be_replaced_and_taken_away(person: Person) -> None:
    alice, _ = person("alice", {"*": "admin"}), person("bob", {"*": "admin"})

    services.grant_role(COMMAND, username="alice", role="viewer")
    after_replacing = services.may(alice, "promote")
    services.grant_role(COMMAND, username="alice", role="")

    assert not after_replacing
    assert not services.may(alice, "view")


def test_an_admin_of_one_environment_grants_there_only(person: Person) -> None:
    lead = person("lead", {"staging": "admin"})
    person("new", {})

    services.grant_role(lead, username="new", role="operator", environment="staging")

    assert selectors.roles(selectors.get_user("new").pk, environment="staging") == ["operator"]
    with pytest.raises(NotAllowed):
        services.grant_role(lead, username="new", role="operator")


def test_a_role_that_does_not_exist_is_refused(person: Person) -> None:
    person("alice", {})

    with pytest.raises(RoleUnknown):
        services.grant_role(COMMAND, username="alice", role="emperor")


def test_granting_to_nobody_is_refused() -> None:
    with pytest.raises(UserUnknown):
        services.grant_role(COMMAND, username="nobody", role="viewer")


def test_accounts_need_a_good_password_and_a_free_name(person: Person) -> None:
    person("alice", {})

    with pytest.raises(PasswordRefused, match="alan"):
        services.add_user(COMMAND, username="alan", password="short")
    with pytest.raises(UsernameTaken, match="alice"):
        services.add_user(COMMAND, username="alice", password="correct horse battery")
    with pytest.raises(BadName):
        services.add_user(COMMAND, username="../alan", password="correct horse battery")


def test_nobody_and_closed_accounts_are_not_actors() -> None:
    closed = User(username="gone", is_active=False)

    with pytest.raises(NotSignedIn):
        services.actor_of(AnonymousUser(), door="api", address="")
    with pytest.raises(NotSignedIn):
        services.actor_of(closed, door="api", address="")


def test_a_token_is_kept_as_a_digest_only() -> None:
    token, secret = services.issue_token(COMMAND, name="ci", scopes=["deploy"], expires_at=tomorrow())

    kept = ApiToken.objects.values().get(pk=token.pk)
    assert secret.startswith("conch_")
    assert secret not in str(kept)


def test_a_token_acts_under_its_name_scopes_and_address(script: Script) -> None:
    ci = script("deploy")

    assert (ci.kind, ci.name, ci.address) == ("token", "ci", "10.0.0.2")
    assert services.may(ci, "promote", "prod")
    assert not services.may(ci, "add_server", "prod")


def test_a_token_for_one_environment_changes_nothing_elsewhere(script: Script) -> None:
    ci = script("deploy", environment="staging")

    assert services.may(ci, "promote", "staging")
    assert services.may(ci, "view", "prod")
    assert not services.may(ci, "promote", "prod")
    assert not services.may(ci, "register_model")


def test_strange_revoked_and_expired_tokens_are_refused() -> None:
    token, secret = services.issue_token(COMMAND, name="ci", scopes=["read"], expires_at=tomorrow())
    old, old_secret = services.issue_token(COMMAND, name="old", scopes=["read"], expires_at=tomorrow())
    ApiToken.objects.filter(pk=old.pk).update(expires_at=timezone.now())

    services.revoke_token(COMMAND, token.pk)

    with pytest.raises(TokenInvalid):
        services.authenticate("conch_guess", address="")
    with pytest.raises(TokenInvalid):
        services.authenticate(secret, address="")
    with pytest.raises(TokenExpired, match="old"):
        services.authenticate(old_secret, address="")


def test_revoking_twice_keeps_the_first_time_and_one_event() -> None:
    token, _ = services.issue_token(COMMAND, name="ci", scopes=["read"], expires_at=tomorrow())

    first = services.revoke_token(COMMAND, token.pk).revoked_at
    second = services.revoke_token(COMMAND, token.pk).revoked_at

    assert first == second
    assert audit.events(verb="revoke_token").count() == 1


def test_use_is_noted_at_most_once_a_minute() -> None:
    token, secret = services.issue_token(COMMAND, name="ci", scopes=["read"], expires_at=tomorrow())
    services.authenticate(secret, address="")
    first = ApiToken.objects.get(pk=token.pk).last_used_at

    services.authenticate(secret, address="")

    assert first is not None
    assert ApiToken.objects.get(pk=token.pk).last_used_at == first


def test_use_is_noted_again_after_a_minute() -> None:
    token, secret = services.issue_token(COMMAND, name="ci", scopes=["read"], expires_at=tomorrow())
    long_ago = timezone.now() - timedelta(minutes=2)
    ApiToken.objects.filter(pk=token.pk).update(last_used_at=long_ago)

    services.authenticate(secret, address="")

    noted = ApiToken.objects.get(pk=token.pk).last_used_at
    assert noted is not None
    assert noted > long_ago


def test_tokens_with_strange_scopes_names_or_expiries_are_refused() -> None:
    with pytest.raises(ScopeUnknown, match="root"):
        services.issue_token(COMMAND, name="ci", scopes=["read", "root"], expires_at=None)
    with pytest.raises(ScopeUnknown, match="at least one"):
        services.issue_token(COMMAND, name="ci", scopes=[], expires_at=None)
    with pytest.raises(BadName):
        services.issue_token(COMMAND, name="c i", scopes=["read"], expires_at=None)
    with pytest.raises(ExpiryPast):
        services.issue_token(COMMAND, name="ci", scopes=["read"], expires_at=timezone.now() - timedelta(days=1))
    with pytest.raises(TokenUnknown):
        services.revoke_token(COMMAND, 4711)


def test_an_operator_cannot_issue_tokens(person: Person) -> None:
    with pytest.raises(NotAllowed):
        services.issue_token(person("alice", {"*": "operator"}), name="ci", scopes=["admin"], expires_at=None)


def test_an_admin_of_one_environment_cannot_issue_a_token_for_all(person: Person) -> None:
    lead = person("lead", {"staging": "admin"})

    token, _ = services.issue_token(lead, name="ci", scopes=["admin"], environment="staging", expires_at=None)

    assert token.environment == "staging"
    with pytest.raises(NotAllowed):
        services.issue_token(lead, name="ci", scopes=["admin"], expires_at=None)


def test_every_change_is_in_the_audit_without_secrets(person: Person) -> None:
    person("alice", {"*": "viewer"})
    token, secret = services.issue_token(COMMAND, name="ci", scopes=["read"], expires_at=None)
    services.revoke_token(COMMAND, token.pk)

    kept = list(audit.events().values())

    assert [event["verb"] for event in kept] == ["revoke_token", "issue_token", "grant_role", "add_user"]
    assert secret not in str(kept)
    assert "correct horse" not in str(kept)


def test_closing_an_account_ends_what_it_could_do(person: Person) -> None:
    alice = person("alice", {"*": "admin"})
    person("bob", {"*": "admin"})
    _, secret = services.issue_token(alice, name="ci", scopes=["admin"], expires_at=None)
    bearer = services.authenticate(secret, address="")
    _, passed_on = services.issue_token(bearer, name="nightly", scopes=["read"], expires_at=None)

    closed = services.close_user(COMMAND, username="alice")
    services.close_user(COMMAND, username="alice")

    with pytest.raises(NotSignedIn):
        services.actor_of(closed, door="console", address="")
    for token in (secret, passed_on):
        with pytest.raises(TokenInvalid):
            services.authenticate(token, address="")
    assert [one.detail for one in audit.events().filter(verb="close_user")] == [{"revoked_tokens": ["ci", "nightly"]}]


def test_the_last_admin_cannot_be_closed(person: Person) -> None:
    person("alice", {"*": "admin"})
    person("bob", {"prod": "admin", "*": "operator"})

    services.close_user(COMMAND, username="bob")

    with pytest.raises(LastAdmin, match="'alice' is the only admin"):
        services.close_user(COMMAND, username="alice")


def test_a_closed_account_gets_no_password(person: Person) -> None:
    person("alice", {"*": "admin"})
    person("bob", {})
    services.close_user(COMMAND, username="bob")

    with pytest.raises(AccountClosed, match="'bob' was closed"):
        services.set_password(COMMAND, username="bob", password="a whole new horse")


@pytest.mark.parametrize("verb", ["set_password", "close_user"])
def test_only_an_admin_touches_the_accounts_of_others(person: Person, verb: str) -> None:
    assert not services.may(person("alice", {"*": "operator", "prod": "admin"}), verb)
