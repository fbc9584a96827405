"""What all tests may use."""

import pytest

from apps.common.actor import COMMAND, Actor

pytest_plugins = ["tests.fixtures.tritons"]


@pytest.fixture
def admin() -> Actor:
    """Whoever sits at the machine: may do everything."""
    return COMMAND
