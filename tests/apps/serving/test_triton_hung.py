"""Loads that never end, and a server that answers nobody."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from apps.serving.backends.triton import connect
from apps.serving.errors import InferenceLate, LoadPending, ModelUnavailable, ServerUnreachable
from apps.serving.protocol import Address, Readiness, ServingBackend
from demo.parts.triton import Triton
from tests.apps.serving.conftest import backend_of, effective, lines, load, wait_for
from tests.factories.triton_models import ask, python_model
from tests.fixtures.tritons import StartTriton


@pytest.fixture
def hung(start_triton: StartTriton) -> Iterator[ServingBackend]:
    """A server that was stopped in the middle of its life; asked with a deadline of half a second."""
    server = start_triton("hung-1")
    backend = connect(Address(name="hung-1", grpc=server.grpc), 0.5)
    assert backend.is_live()
    server.pause()
    # The signal arrives when it arrives: the questions of the tests come after it.
    wait_for(lambda: not _is_live(backend))
    yield backend
    server.resume()


def test_a_python_model_without_its_file_hangs_its_own_load_only(triton: Triton, backend: ServingBackend) -> None:
    (python_model(triton.repository, "stuck", 1) / "model.py").unlink()
    python_model(triton.repository, "fine", 1)

    with pytest.raises(LoadPending, match="staging-1: loading 'stuck'"):
        backend.load("stuck", config=effective("stuck", 1), timeout_s=4)
    with pytest.raises(LoadPending, match="staging-1: unloading 'stuck'"):
        backend.unload("stuck", timeout_s=1)
    load(backend, "fine", 1)

    assert lines(backend, "stuck")[1].state == Readiness.LOADING
    assert not backend.is_ready("stuck", 1)
    assert ask(backend, "fine").version == 1
    with pytest.raises(ModelUnavailable):
        ask(backend, "stuck", 1)


def test_a_load_goes_on_at_the_server_after_the_deadline(triton: Triton, backend: ServingBackend) -> None:
    python_model(triton.repository, "slow", 1, initialize="time.sleep(3)")

    with pytest.raises(LoadPending):
        backend.load("slow", config=effective("slow", 1), timeout_s=0.5)
    load(backend, "slow", 1)

    assert ask(backend, "slow").version == 1


def test_a_hung_server_is_unreachable_for_every_question(hung: ServingBackend) -> None:
    for question in (hung.describe, hung.control_mode, hung.is_live, hung.is_server_ready, hung.index, hung.statistics):
        with pytest.raises(ServerUnreachable, match=r"hung-1: .*no answer in time"):
            question()


def test_a_hung_server_leaves_a_load_pending_and_a_request_late(hung: ServingBackend) -> None:
    with pytest.raises(LoadPending):
        hung.load("any", timeout_s=0.5)
    with pytest.raises(InferenceLate):
        hung.infer("any", None, [], timeout_s=0.5)


def test_a_killed_server_is_unreachable_and_found_again_after_a_restart(start_triton: StartTriton) -> None:
    server = start_triton("restarted-1")
    backend = connect(Address(name="restarted-1", grpc=server.grpc), 5)
    assert backend.is_live()

    server.kill()
    with pytest.raises(ServerUnreachable, match=r"^restarted-1: "):
        backend.is_live()
    server.start()

    wait_for(lambda: _is_live(backend), timeout_s=5)
    assert backend.describe().name == "triton"


def test_a_server_that_dies_during_a_load_is_unreachable(start_triton: StartTriton) -> None:
    server = start_triton("dying-1")
    python_model(server.repository, "endless", 1, initialize="time.sleep(60)")
    backend = backend_of(server)

    with ThreadPoolExecutor(max_workers=1) as caller:
        loading = caller.submit(load, backend, "endless", 1)
        wait_for(lambda: 1 in lines(backend, "endless"))
        server.kill()

        with pytest.raises(ServerUnreachable, match=r"^dying-1: loading 'endless'"):
            loading.result(timeout=30)


def _is_live(backend: ServingBackend) -> bool:
    try:
        return backend.is_live()
    except ServerUnreachable:
        return False
