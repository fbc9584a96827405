"""Callers of the API."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.access import services
from apps.common.actor import COMMAND
from tests.apps.metrics.conftest import scripted

__all__ = ["scripted"]

PASSWORD = "correct horse battery"
Callers = Callable[..., Client]


@pytest.fixture
def script(db: None) -> Callers:
    """A client with a bearer token of the given scopes; it does not raise what the server answers."""

    def make(*scopes: str, environment: str = "*", name: str = "ci") -> Client:
        _, secret = services.issue_token(COMMAND, name=name, scopes=scopes, environment=environment, expires_at=None)
        return Client(headers={"Authorization": f"Bearer {secret}"}, raise_request_exception=False)

    return make


@pytest.fixture
def ci(script: Callers) -> Client:
    """What a deployment pipeline has."""
    return script("deploy")


@pytest.fixture
def root(script: Callers) -> Client:
    """A token that may do everything."""
    return script("admin", name="root")


@pytest.fixture
def person(db: None) -> Callers:
    """A signed-in person with the given role everywhere; CSRF is checked as in production."""

    def make(username: str = "alice", role: str = "operator") -> Client:
        services.add_user(COMMAND, username=username, password=PASSWORD)
        services.grant_role(COMMAND, username=username, role=role)
        client = Client(enforce_csrf_checks=True)
        client.force_login(User.objects.get(username=username))
        return client

    return make
