"""Accounts and tokens of this folder's tests."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.access import services
from apps.common.actor import COMMAND, Actor

PASSWORD = "correct horse battery"


@pytest.fixture
def person(db: None) -> Callable[..., Actor]:
    """Makes an account with the given grants ({environment: role}) and gives its actor."""

    def make(name: str, grants: dict[str, str]) -> Actor:
        user = services.add_user(COMMAND, username=name, password=PASSWORD)
        for environment, role in grants.items():
            services.grant_role(COMMAND, username=name, role=role, environment=environment)
        return services.actor_of(user, door="api", address="10.0.0.1")

    return make


@pytest.fixture
def script(db: None) -> Callable[..., Actor]:
    """Issues a token and gives the actor its secret stands for."""

    def make(*scopes: str, environment: str = "*") -> Actor:
        expires_at = timezone.now() + timedelta(days=1)
        _, secret = services.issue_token(
            COMMAND, name="ci", scopes=scopes, environment=environment, expires_at=expires_at
        )
        return services.authenticate(secret, address="10.0.0.2")

    return make
