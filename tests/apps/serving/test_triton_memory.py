"""Memory from a Triton's own metrics; and metrics that do not come, come slowly, or are none."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from apps.serving.backends.triton import memory
from apps.serving.errors import MetricsUnread
from apps.serving.memory import DeviceMemory, MemoryKind
from apps.serving.protocol import Address
from demo.parts.triton import Triton
from tests.apps.serving.conftest import wait_for

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"


def address(metrics: str) -> Address:
    return Address(name="prod-1", grpc="127.0.0.1:1", metrics=metrics)


def test_without_a_card_the_machine_tells_once_triton_has_looked(triton: Triton) -> None:
    where = address(f"http://{triton.metrics}/metrics")
    wait_for(lambda: bool(memory.read(where)))

    (machine,) = memory.read(where)

    assert (machine.kind, machine.device) == (MemoryKind.MACHINE, "")
    assert 0 < machine.used_bytes <= machine.total_bytes
    assert machine.free_bytes == machine.total_bytes - machine.used_bytes


def test_a_card_goes_before_the_machine() -> None:
    text = "\n".join(
        [
            "nv_cpu_memory_used_bytes 5",
            "nv_cpu_memory_total_bytes 9",
            'nv_gpu_memory_used_bytes{gpu_uuid="GPU-a"} 3.000000',
            'nv_gpu_memory_total_bytes{gpu_uuid="GPU-a"} 8.000000',
            'nv_gpu_memory_used_bytes{gpu_uuid="GPU-b"} 4.0',
            "",
        ]
    )

    assert memory.parse(text) == (DeviceMemory(MemoryKind.GPU, "GPU-a", 3, 8),)


@pytest.mark.parametrize(("used", "total"), [("0", "9"), ("NaN", "9"), ("+Inf", "+Inf"), ("10", "9"), ("-1", "9")])
def test_figures_that_cannot_be_are_no_figures(used: str, total: str) -> None:
    assert memory.parse(f"nv_cpu_memory_used_bytes {used}\nnv_cpu_memory_total_bytes {total}\n") == ()


def drip(peer: socket.socket) -> None:
    """A byte now and then, for longer than anybody waits."""
    peer.sendall(OK)
    for _ in range(200):
        peer.sendall(b"#")
        time.sleep(0.02)


def endless(peer: socket.socket) -> None:
    """More than any server could have to say."""
    peer.sendall(OK)
    while True:
        peer.sendall(b"# nothing of any use to anybody\n" * 4_096)


@contextmanager
def answering(answer: Callable[[socket.socket], object]) -> Iterator[str]:
    """Something listens and answers one request like that."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            peer, _ = listening.accept()
            with peer:
                peer.recv(4_096)
                try:
                    answer(peer)
                except OSError:
                    return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/metrics"
        thread.join(timeout=10)
        assert not thread.is_alive(), "the connection was not given back"


@pytest.mark.parametrize(
    "answer",
    [
        lambda peer: peer.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
        lambda peer: peer.sendall(b"\x00\x01nothing like HTTP\r\n\r\n"),
        lambda peer: peer.sendall(OK + b"nv_cpu_memory_used_bytes{ never closed\n"),
        drip,
        endless,
        lambda peer: None,
    ],
    ids=["not_found", "no_http", "no_exposition", "dripping", "endless", "closed"],
)
def test_metrics_that_are_none_or_do_not_end_are_given_up_in_time(answer: Callable[[socket.socket], object]) -> None:
    with answering(answer) as where:
        began = time.monotonic()
        with pytest.raises(MetricsUnread) as told:
            memory.read(address(where), timeout_s=0.5)

        assert time.monotonic() - began < 3
    assert "prod-1" in told.value.message


@pytest.mark.parametrize("where", ["", "http://127.0.0.1:1/metrics"])
def test_without_an_address_or_a_listener_metrics_are_unread(where: str) -> None:
    with pytest.raises(MetricsUnread):
        memory.read(address(where))
