"""Two admins who act at once: one of them stays."""

from collections.abc import Callable

import pytest
from django.db import connection

from apps.access import services
from apps.access.errors import LastAdmin
from apps.common.actor import Actor
from tests.fixtures.two_at_once import while_waiting

Taking = Callable[[Actor, str], object]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time: nobody waits"),
]


def lower(actor: Actor, username: str) -> None:
    services.grant_role(actor, username=username, role="viewer")


def close(actor: Actor, username: str) -> None:
    services.close_user(actor, username=username)


@pytest.mark.parametrize(("first", "second"), [(lower, lower), (lower, close), (close, lower), (close, close)])
def test_of_two_admins_who_take_each_other_s_role_or_account_one_stays(
    first: Taking, second: Taking, person: Callable[..., Actor]
) -> None:
    alice, bob = person("alice", {"*": "admin"}), person("bob", {"*": "admin"})

    with pytest.raises(LastAdmin, match="alice"):
        while_waiting(lambda: first(alice, "bob"), lambda: second(bob, "alice"))

    assert services.may(alice, "grant_role")
