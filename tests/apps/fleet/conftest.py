"""A repository's directory, and a small fleet in the database."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.common.actor import COMMAND
from apps.fleet import services
from apps.fleet.models import Server


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "repository"
    directory.mkdir()
    return directory


@pytest.fixture
def environment(db: None, root: Path) -> str:
    """`staging`, with a repository of the same name."""
    services.add_environment(COMMAND, name="staging")
    services.add_repository(COMMAND, name="staging", environment="staging", path=str(root))
    return "staging"


def named(name: str, grpc: str, *, state: str = "active", **fields: Any) -> Server:
    """One more server of staging, introduced already."""
    server = services.add_server(COMMAND, name=name, environment="staging", repository="staging", grpc=grpc, **fields)
    Server.objects.filter(pk=server.pk).update(state=state)
    return server


def tree(directory: Path) -> list[str]:
    """Every file and link there, and every empty directory, relative."""
    found = [path for path in directory.rglob("*") if path.is_symlink() or path.is_file() or not any(path.iterdir())]
    return sorted(path.relative_to(directory).as_posix() for path in found)


def stamps(directory: Path) -> Iterator[tuple[str, int]]:
    """Every path there with its time stamp."""
    for path in sorted(directory.rglob("*")):
        yield path.relative_to(directory).as_posix(), os.lstat(path).st_mtime_ns
