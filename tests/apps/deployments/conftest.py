"""A fleet as rows: two servers in prod, version 1 live, version 2 ready."""

import pytest

from tests.factories.fleets import FleetRows
from tests.factories.releases import with_letters


@pytest.fixture
def rows(transactional_db: None) -> FleetRows:
    made = FleetRows()
    made.environment("prod")
    made.server("prod-1", "prod")
    made.server("prod-2", "prod")
    made.model("digits")
    for number in (1, 2, 3):
        made.version("digits", number)
    made.placed("digits", "prod", 1)
    return made


@pytest.fixture
def pair(rows: FleetRows) -> FleetRows:
    """Two models with version 1 live and version 2 ready."""
    return with_letters(rows)
