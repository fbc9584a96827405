"""Who is behind a token, where names of people and tokens are the same."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from apps.access import selectors, services
from apps.access.errors import LastAdmin
from apps.access.models import ApiToken
from apps.common.actor import COMMAND, Actor

Person = Callable[..., Actor]


def issue(actor: Actor, name: str) -> Actor:
    """A token that `actor` issues, as it acts."""
    _, secret = services.issue_token(actor, name=name, scopes=["admin"], expires_at=None)
    return services.authenticate(secret, address="")


def test_closing_a_person_spares_what_a_token_of_the_same_name_issued(person: Person) -> None:
    person("alice", {"*": "admin"})
    issue(issue(person("bob", {"*": "admin"}), "alice"), "nightly")

    services.close_user(COMMAND, username="alice")

    assert ApiToken.objects.filter(revoked_at=None).count() == 2


def test_closing_a_person_spares_what_another_ones_token_of_the_same_name_issued(person: Person) -> None:
    issue(issue(person("alice", {"*": "admin"}), "ci"), "alices")
    issue(issue(person("bob", {"*": "admin"}), "ci"), "bobs")

    services.close_user(COMMAND, username="alice")

    assert set(ApiToken.objects.filter(revoked_at=None).values_list("name", "issued_by")) == {
        ("ci", "bob"),
        ("bobs", "ci"),
    }


def test_a_person_is_not_behind_what_a_token_of_their_name_issued(person: Person) -> None:
    issue(issue(person("bob", {"*": "admin"}), "alice"), "nightly")

    assert selectors.people_behind("token", "nightly") == {"bob", "token alice", "token nightly"}


@pytest.mark.parametrize("role", ["", "operator"])
def test_the_last_admin_keeps_the_role(role: str, person: Person) -> None:
    alice = person("alice", {"*": "admin"})
    person("bob", {"prod": "admin"})

    with pytest.raises(LastAdmin, match="alice"):
        services.grant_role(alice, username="alice", role=role)
    services.grant_role(alice, username="bob", role="admin")
    services.grant_role(alice, username="alice", role=role)

    assert not services.may(alice, "grant_role")


def test_the_last_admin_may_lose_a_role_elsewhere_and_a_superuser_any(person: Person) -> None:
    person("alice", {"*": "admin", "prod": "operator"})
    services.grant_role(COMMAND, username="alice", role="", environment="prod")
    services.add_user(COMMAND, username="root", password="correct horse battery", is_superuser=True)
    services.close_user(COMMAND, username="alice")
    services.grant_role(COMMAND, username="root", role="viewer")

    assert selectors.is_last_admin(selectors.get_user("root"))


@pytest.mark.django_db(transaction=True)
def test_issuers_from_before_their_kind_was_kept_are_told_by_the_audit(person: Person) -> None:
    issue(issue(person("bob", {"*": "admin"}), "alice"), "nightly")
    MigrationExecutor(connection).migrate([("access", "0001_initial")])

    MigrationExecutor(connection).migrate([("access", "0002_issuers")])

    kept = ApiToken.objects.order_by("pk").values_list("name", "issued_by_kind", "issued_by_token__name")
    assert list(kept) == [("alice", "user", None), ("nightly", "token", "alice")]
