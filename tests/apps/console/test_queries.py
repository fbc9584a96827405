"""How many queries a page costs: committed numbers that do not grow with the fleet."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.factories.fleets import large_fleet

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


def _queries(viewer: Client, where: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert viewer.get(where).status_code == 200
    return len(queries)
