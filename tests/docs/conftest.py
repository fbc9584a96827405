"""The production stack as it would be started."""

from pathlib import Path

import pytest

from tests.docs import compose


@pytest.fixture(scope="session")
def env_file(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What compose/make-env wrote."""
    folder: Path = tmp_path_factory.mktemp("stack")
    return compose.made_secrets(folder)


@pytest.fixture
def services(env_file: dict[str, str]) -> dict[str, compose.Service]:
    """The services with the secrets filled in."""
    return compose.services(env_file)
