"""How many queries a page costs: committed numbers that do not grow with the fleet."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.db.models import Max
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.deployments.models import Rollout
from apps.deployments.policy import Policy
from tests.factories.fleet_extremes import large_fleet

# The session, the account and the two looks at its role are in every one of them.
QUERIES = {
    "/": 16,
    # A part that asks again makes no other.
    "/?part=drift": 7,
    "/servers/prod-1/?part=memory": 5,
    "/servers/prod-1/?part=facts": 4,
    "/models/digits/versions/2/?part=version": 12,
    "/models/": 7,
    "/models/digits/": 34,
    "/models/digits/?stop=0": 36,
    "/models/digits/versions/2/": 22,
    "/servers/": 7,
    "/servers/prod-1/": 13,
    "/rollouts/": 7,
    "/rollouts/{first}/": 11,
    "/audit/": 7,
    "/environments/": 6,
    "/search/?q=d": 8,
}


@pytest.mark.parametrize("size", [3, 30])
def test_a_page_costs_the_same_in_a_small_and_a_large_fleet(size: int, sign_in: Callable[..., Client]) -> None:
    first = large_fleet(size).placements["digits", "staging"].rollouts.earliest("pk")
    viewer = sign_in("viewer")

    costs = {where: _queries(viewer, where.format(first=first.pk)) for where in QUERIES}

    assert costs == QUERIES


@pytest.mark.parametrize("size", [3, 30])
def test_what_moves_costs_its_pages_the_same_however_much_moves(size: int, sign_in: Callable[..., Client]) -> None:
    """When each is through is one question about all of them."""
    large_fleet(size)
    newest = Rollout.objects.values("placement").annotate(newest=Max("pk")).values_list("newest", flat=True)
    Rollout.objects.filter(pk__in=list(newest)).update(state="running", finished_at=None, policy=Policy().document())
    viewer = sign_in("viewer")

    costs = {where: _queries(viewer, where) for where in ("/", "/rollouts/")}

    assert costs == {"/": QUERIES["/"] + 1, "/rollouts/": QUERIES["/rollouts/"] + 1}


def _queries(viewer: Client, where: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert viewer.get(where).status_code == 200
    return len(queries)
