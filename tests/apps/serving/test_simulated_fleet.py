"""What only a simulated Triton can do: be hundreds in one process, and be unwell when asked."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.serving.backends.triton import connect
from apps.serving.errors import InferenceLate, LoadRefused, ServerUnreachable
from apps.serving.protocol import Address, ServingBackend
from demo.parts.ports import free_ports
from demo.parts.triton import TritonPorts
from tests.apps.serving.conftest import effective, load, wait_for
from tests.doubles.fleet import SimulatedFleet, SimulatedTriton
from tests.factories.triton_models import TRIVIAL, ask, ones, python_model

MANY = 100


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "models"
    python_model(root, "digits", 1, config=True)
    return root


@pytest.fixture
def server(simulated_fleet: SimulatedFleet, repository: Path) -> Iterator[SimulatedTriton]:
    made = SimulatedTriton(simulated_fleet, "sim-1", repository=repository, load_models=None)
    simulated_fleet.add(made)
    yield made
    made.kill()


def backend_of(server: SimulatedTriton, *, timeout_s: float = 5) -> ServingBackend:
    return connect(Address(name=server.name, grpc=server.grpc), timeout_s)


def threads_of(fleet: SimulatedFleet) -> int:
    return len(list(Path(f"/proc/{fleet.running_child.pid}/task").iterdir()))


def test_a_hundred_servers_are_one_process_without_a_thread_each(
    simulated_fleet: SimulatedFleet, repository: Path
) -> None:
    ports = [TritonPorts(*free_ports(3)) for _ in range(MANY)]
    servers = [
        SimulatedTriton(simulated_fleet, f"many-{n}", repository=repository, ports=ports[n], load_models=None)
        for n in range(MANY)
    ]
    simulated_fleet.add(*servers)

    answers = {ask(backend_of(server), "digits").version for server in servers}

    assert answers == {1}
    assert threads_of(simulated_fleet) < MANY
    for server in servers:
        server.kill()


def test_a_slow_server_answers_late_until_it_is_well_again(server: SimulatedTriton) -> None:
    backend = backend_of(server)
    server.disturb(slow_s=2)

    with pytest.raises(InferenceLate):
        backend.infer("digits", None, ones(), timeout_s=0.3)
    server.disturb()

    assert ask(backend, "digits").version == 1


def test_a_load_fails_with_the_words_it_was_told(server: SimulatedTriton) -> None:
    backend = backend_of(server)
    python_model(server.repository, "other", 1)
    server.disturb(fail_load="Internal: out of memory")

    with pytest.raises(LoadRefused, match="version 1 is at UNAVAILABLE state: Internal: out of memory"):
        load(backend, "other", 1)

    assert ask(backend, "digits").version == 1


def test_a_server_comes_back_with_what_is_persisted_or_empty(server: SimulatedTriton) -> None:
    backend = backend_of(server)
    server.kill()
    with pytest.raises(ServerUnreachable):
        backend.is_live()

    server.start()
    wait_for(lambda: _is_ready(backend))
    server.kill()
    server.start(is_empty=True)

    wait_for(lambda: not _is_ready(backend))
    assert backend.describe().name == "triton"


def test_what_a_server_said_of_itself_lately_holds_until_a_call_fails(server: SimulatedTriton) -> None:
    backend = backend_of(server)
    said = backend.describe()
    server.kill()

    before = backend.describe(at_most_s_old=60)
    with pytest.raises(ServerUnreachable):
        backend.is_live()

    assert before == said
    with pytest.raises(ServerUnreachable):
        backend.describe(at_most_s_old=60)
    server.start()


def test_answers_and_load_times_can_be_laid_down_beside_the_version(server: SimulatedTriton) -> None:
    backend = backend_of(server)
    folder = python_model(server.repository, "golden", 1)
    (folder / "simulated.json").write_text('{"answers": {"echo": [7], "version": [1]}, "load_s": 0.01}')

    load(backend, "golden", 1)

    assert ask(backend, "golden").echo == [[7.0] * 4]


def test_a_model_without_a_program_answers_zeros(server: SimulatedTriton) -> None:
    backend = backend_of(server)
    (server.repository / "net" / "1").mkdir(parents=True)
    (server.repository / "net" / "1" / "model.onnx").write_bytes(b"")
    config = {**effective("net", 1), "backend": "onnxruntime", "default_model_filename": "model.onnx"}

    backend.load("net", config=config, timeout_s=5)

    assert ask(backend, "net").echo == [[0.0] * 4]


def test_a_server_without_its_repository_serves_what_came_in_the_load_call(server: SimulatedTriton) -> None:
    backend = backend_of(server)
    shutil.rmtree(server.repository / "digits")

    backend.load("carried", config=effective("carried", 7, is_warmed=False), files={"7/model.py": TRIVIAL}, timeout_s=5)

    assert backend.is_ready("carried", 7)


def _is_ready(backend: ServingBackend) -> bool:
    try:
        return backend.is_ready("digits", 1)
    except ServerUnreachable:
        return False
