"""A Triton with an empty repository per test file, real and simulated, and how to ask it.

Whatever a test here says of one is said of both: that is what the simulated one is held by.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.serving.backends.triton import connect
from apps.serving.backends.triton.config import CONFIG
from apps.serving.protocol import Address, IndexEntry, Readiness, ServingBackend
from demo.parts.triton import Triton
from tests.factories.triton_models import config_text
from tests.fixtures.tritons import StartTriton, real_tritons, simulated_tritons

ANSWER_WITHIN_S = 5.0
LOAD_WITHIN_S = 60.0


@pytest.fixture(scope="module", params=["simulated", pytest.param("real", marks=pytest.mark.live)])
def start_triton(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartTriton]:
    if request.param == "real":
        made = real_tritons(request.getfixturevalue("triton_environment"), tmp_path_factory)
    else:
        made = simulated_tritons(request.getfixturevalue("simulated_fleet"), tmp_path_factory)
    with made as start:
        yield start


@pytest.fixture(scope="module")
def triton(start_triton: StartTriton) -> Triton:
    server: Triton = start_triton("staging-1")
    return server


@pytest.fixture(scope="module")
def backend(triton: Triton) -> Iterator[ServingBackend]:
    connected = backend_of(triton)
    yield connected
    connected.close()


def backend_of(triton: Triton, **key: str) -> ServingBackend:
    """Conch's side of `triton`; `key` is control_key and control_value."""
    return connect(Address(name=triton.name, grpc=triton.grpc, http=triton.http, **key), ANSWER_WITHIN_S)


def effective(name: str, *versions: int, is_warmed: bool = True) -> dict[str, Any]:
    """The override that loads exactly `versions` of a model of tests.factories.triton_models."""
    document = CONFIG.parse(config_text(name)).document
    warmup = CONFIG.zero_warmup(document) if is_warmed else []
    return CONFIG.effective(document, name=name, versions=versions, warmup=warmup)


def load(backend: ServingBackend, name: str, *versions: int, is_warmed: bool = True) -> None:
    """Load exactly `versions`."""
    override = effective(name, *versions, is_warmed=is_warmed)
    backend.load(name, config=override, timeout_s=LOAD_WITHIN_S)


def load_settled(backend: ServingBackend, name: str, version: int) -> None:
    """Load one version so that no later load restarts it.

    A first load writes `__pycache__`, so the second restarts the version. A load in which one version
    restarts while another fails has ended the server (signal 11, 1 of 16).
    """
    load(backend, name, version)
    load(backend, name, version)


def lines(backend: ServingBackend, name: str) -> dict[int | None, IndexEntry]:
    """The index's lines about one model, by version."""
    return {entry.version: entry for entry in backend.index() if entry.model == name}


def wait_for(is_so: Callable[[], bool], *, timeout_s: float = 20) -> None:
    """Return once `is_so`; fail after the deadline."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def wait_unloaded(backend: ServingBackend, name: str, version: int) -> None:
    """Return once the server says the version is gone."""
    wait_for(lambda: lines(backend, name)[version].state == Readiness.UNAVAILABLE)


def link_shadow(repository: Path, name: str, version: int) -> str:
    """Lay a shadow of `version` beside the model; the name to load it by."""
    shadow = repository / f"{name}.shadow"
    shadow.mkdir()
    (shadow / str(version)).symlink_to(Path("..") / name / str(version))
    return shadow.name
