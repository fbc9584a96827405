"""What a list costs does not grow with the fleet: committed numbers."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.apps.api import rows

# One query each finds the token; two find a person. The rest is the list's own.
LISTS = {
    "models": 4,
    "models/digits/versions": 3,
    "models/digits/samples": 3,
    "environments": 2,
    "repositories": 2,
    "servers": 2,
    "sd/prometheus": 2,
    "drift": 2,
    "placements": 2,
    "placements?at={now}": 3,
    "rollouts": 2,
    "bans": 2,
    "releases": 3,
    "probes?environment=prod&model=m1": 3,
    "trials?model=digits": 2,
    "audit": 2,
    "tokens": 2,
    "users": 3,
    "health": 2,
}


def queries(client: Client, path: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        answer = client.get(f"/api/v1/{path.format(now=f'{timezone.now():%Y-%m-%dT%H:%M:%S.%fZ}')}")
    assert answer.status_code == 200, answer.content
    return len(captured)


@pytest.mark.django_db
@pytest.mark.parametrize("count", [3, 30])
def test_lists_cost_the_same_with_few_rows_and_many(count: int, root: Client) -> None:
    rows.fill(count)
    root.get("/api/v1/me")

    assert {path: queries(root, path) for path in LISTS} == LISTS


@pytest.mark.django_db
@pytest.mark.parametrize("servers", [3, 30])
def test_a_rollout_costs_the_same_on_few_servers_and_many(servers: int, root: Client) -> None:
    rollout = rows.rollout(rows.placement(), to=rows.version(1), servers=servers)
    root.get("/api/v1/me")

    assert queries(root, f"rollouts/{rollout.pk}") == 4
    assert queries(root, f"rollouts/{rollout.pk}/runs") == 4
