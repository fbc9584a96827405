"""An artifact store of each test's own."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.common.actor import COMMAND
from apps.registry import services
from apps.registry.models import Version
from tests.factories.archives import upload


@pytest.fixture
def store(tmp_path: Path, settings: Settings) -> Path:
    directory = tmp_path / "artifacts"
    directory.mkdir()
    settings.CONCH = {**settings.CONCH, "artifacts_dir": directory}
    return directory


@pytest.fixture
def registered(db: None) -> str:
    """A model called demo."""
    return services.register_model(COMMAND, name="demo").name


@pytest.fixture
def receive(store: Path, registered: str) -> Callable[..., Version]:
    """Receives bytes as the next version of demo."""
    return lambda content, **asked: services.add_version(COMMAND, model="demo", upload=upload(content), **asked)


@pytest.fixture
def arrive(receive: Callable[..., Version]) -> Callable[..., Version]:
    """Receives bytes and checks them."""

    def arrive(content: bytes, **asked: object) -> Version:
        version = receive(content, **asked)
        services.check_version(version.pk, now=timezone.now())
        version.refresh_from_db()
        return version

    return arrive


def files_under(directory: Path) -> list[str]:
    """Every file there, relative."""
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if not path.is_dir())
