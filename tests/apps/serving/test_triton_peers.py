"""What is not a Triton, and what is not there."""

import http.server
import multiprocessing
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
import pytest
from tritonclient.grpc import service_pb2, service_pb2_grpc

from apps.serving.backends import get, kinds
from apps.serving.backends.triton import channels, connect
from apps.serving.errors import NotAnInferenceServer, ServerUnreachable, UnknownBackend
from apps.serving.protocol import Address, ServingBackend
from demo.parts.ports import free_port
from demo.parts.triton import Triton

live = pytest.mark.live


def backend_at(port: int) -> ServingBackend:
    return connect(Address(name="peer-1", grpc=f"127.0.0.1:{port}"), 1)


@contextmanager
def listener(meet: Callable[[socket.socket], None]) -> Iterator[int]:
    """A TCP port where every connection is met by `meet`, and kept open until the end."""
    met: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            met.append(connection)
            meet(connection)

    with socket.create_server(("127.0.0.1", free_port())) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in met:
                connection.close()


@contextmanager
def grpc_server(*services: Callable[[grpc.Server], None]) -> Iterator[int]:
    with ThreadPoolExecutor(max_workers=2) as threads:
        server = grpc.server(threads)
        port = server.add_insecure_port("127.0.0.1:0")
        for add in services:
            add(server)
        server.start()
        yield port
        server.stop(grace=None).wait()


class OtherMake(service_pb2_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc]
    """A server of the same protocol without Triton's repository."""

    def ServerMetadata(self, request: object, context: object) -> object:  # noqa: N802
        return service_pb2.ServerMetadataResponse(name="mlserver", version="1.7.1")


def test_nobody_listening_is_unreachable_and_says_who_and_why() -> None:
    backend = backend_at(free_port())

    with pytest.raises(
        ServerUnreachable, match=r"^peer-1: asking whether it is live: .*[Cc]onnection refused"
    ) as missed:
        backend.is_live()
    with pytest.raises(ServerUnreachable):
        backend.load("digits", timeout_s=5)
    with pytest.raises(ServerUnreachable):
        backend.infer("digits", None, [])

    assert missed.value.retryable


def test_an_unknown_host_is_unreachable() -> None:
    backend = connect(Address(name="peer-1", grpc="no-such-host.invalid:8001"), 5)

    with pytest.raises(ServerUnreachable, match=r"no-such-host\.invalid"):
        backend.describe()


def test_a_port_that_accepts_and_says_nothing_is_unreachable() -> None:
    with listener(lambda connection: None) as port, pytest.raises(ServerUnreachable, match="no answer in time"):
        backend_at(port).describe()


@pytest.mark.parametrize("banner", [b"SSH-2.0-OpenSSH_9.2\r\n", b"-ERR unknown command\r\n" * 3])
def test_a_port_that_speaks_something_else_is_not_an_inference_server(banner: bytes) -> None:
    with listener(lambda connection: connection.sendall(banner)) as port, pytest.raises(NotAnInferenceServer):
        backend_at(port).describe()


def test_a_plain_http_server_is_not_an_inference_server() -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with pytest.raises(NotAnInferenceServer, match=r"^peer-1: "):
            backend_at(server.server_address[1]).describe()
        server.shutdown()
        thread.join()


def test_grpc_without_the_protocol_is_not_an_inference_server() -> None:
    with grpc_server() as port, pytest.raises(NotAnInferenceServer, match="it speaks gRPC, but not Triton's"):
        backend_at(port).describe()


def test_another_make_of_inference_server_is_not_taken_for_a_triton() -> None:
    def add(server: grpc.Server) -> None:
        service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(OtherMake(), server)

    with (
        grpc_server(add) as port,
        pytest.raises(NotAnInferenceServer, match=r"'mlserver' '1.7.1' and lacks model_conf"),
    ):
        backend_at(port).describe()


@pytest.mark.parametrize("start_triton", [pytest.param("real", marks=live)], indirect=True)
def test_tritons_http_port_given_as_grpc_is_told_apart(triton: Triton) -> None:
    with pytest.raises(NotAnInferenceServer, match="speaks HTTP/1, not gRPC") as refused:
        backend_at(triton.ports.http).describe()

    assert "gRPC port" in refused.value.hint


def test_a_forked_child_asks_over_a_channel_of_its_own(triton: Triton, backend: ServingBackend) -> None:
    assert backend.is_live()
    parents = channels.client(triton.grpc)
    fork = multiprocessing.get_context("fork")
    answers = fork.SimpleQueue()

    child = fork.Process(target=lambda: answers.put((backend.describe().name, channels.client(triton.grpc) is parents)))
    child.start()
    child.join(timeout=20)

    assert child.exitcode == 0
    assert answers.get() == ("triton", False)
    assert backend.is_live()
    assert channels.client(triton.grpc) is parents


def test_many_threads_share_one_backend(backend: ServingBackend) -> None:
    with ThreadPoolExecutor(max_workers=16) as threads:
        answers = list(threads.map(lambda _: backend.describe().name, range(200)))

    assert answers == ["triton"] * 200


def test_a_closed_backend_opens_again_and_harms_no_other_of_the_same_server(triton: Triton) -> None:
    one, other = backend_at(triton.ports.grpc), backend_at(triton.ports.grpc)
    assert one.is_live()

    one.close()

    assert other.is_live()
    assert one.is_live()


def test_the_kind_is_found_by_its_name_and_another_is_refused() -> None:
    assert "triton" in kinds()
    assert get("triton").CONFIG.render({"name": "digits"}) == 'name: "digits"\n'
    with pytest.raises(UnknownBackend, match=r"'torchserve'; there are: .*triton"):
        get("torchserve")
