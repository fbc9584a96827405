"""People at the console, and fleets to look at."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.access.models import Grant
from apps.deployments.models import Rollout
from tests.factories.fleet_extremes import break_things
from tests.factories.fleets import FleetRows, small_fleet

PASSWORD = "correct horse battery"


@pytest.fixture
def rows(db: None) -> FleetRows:
    """Two environments, three servers, one model with history."""
    return small_fleet()


@pytest.fixture
def moving(rows: FleetRows) -> Rollout:
    """The same fleet with everything that can go wrong, and a rollout on its way."""
    return break_things(rows)


@pytest.fixture
def sign_in(db: None) -> Callable[..., Client]:
    """Somebody with a role (everywhere unless said), signed in."""

    def make(role: str, environment: str = "*", **options: bool) -> Client:
        user = User.objects.create_user(f"{role}-{environment.strip('*') or 'all'}", password=PASSWORD)
        Grant.objects.create(user=user, role=role, environment=environment)
        client = Client(**options)  # type: ignore[arg-type]
        client.force_login(user)
        return client

    return make


@pytest.fixture
def operator(sign_in: Callable[..., Client]) -> Client:
    """Somebody who may change what is live."""
    return sign_in("operator")


@pytest.fixture
def viewer(sign_in: Callable[..., Client]) -> Client:
    """Somebody who may look."""
    return sign_in("viewer")


@pytest.fixture
def boss(sign_in: Callable[..., Client]) -> Client:
    """Somebody who may do everything."""
    return sign_in("admin")
