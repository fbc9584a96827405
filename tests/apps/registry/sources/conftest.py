"""Places to fetch from, one of each for a test file."""

from collections.abc import Iterator

import pytest

from tests.doubles.mlflow import Tracking, mlflow_server
from tests.fixtures.s3 import s3_server


@pytest.fixture(scope="package")
def s3() -> Iterator[dict[str, str]]:
    """A server that speaks S3; the settings that lead to it."""
    with s3_server() as found:
        yield found


@pytest.fixture
def tracking() -> Iterator[Tracking]:
    """A tracking server without models."""
    with mlflow_server() as running:
        yield running
