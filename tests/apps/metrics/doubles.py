"""Doubles on real ports: a Prometheus that answers as scripted, and an exporter that Prometheus scrapes."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from demo.parts.ports import free_port


@dataclass(frozen=True)
class Asked:
    """One request as it came over the wire."""

    method: str
    path: str
    in_address: Mapping[str, str]
    in_body: Mapping[str, str]
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def parameters(self) -> Mapping[str, str]:
        return {**self.in_address, **self.in_body}


@dataclass
class ScriptedPrometheus:
    """Answers each request with the next of `script`, the last one for ever."""

    url: str
    script: list[tuple[int, bytes]] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    until_released: threading.Event | None = None
    answer: Callable[[Asked], Any] | None = None
    gives_up_on: Callable[[Asked], bool] = lambda _: False
    clock_ahead_s: float = 0.0
    leads_to: str = ""
    drips_every_s: float = 0.0

    def says(self, status: int, document: Any) -> None:
        """Add an answer to the script: JSON, or bytes as they are."""
        self.script.append((status, document if isinstance(document, bytes) else json.dumps(document).encode()))

    def gives(self, *series: tuple[Mapping[str, str], list[tuple[float, str]]]) -> None:
        """Add a matrix to the script."""
        self.says(200, matrix(*series))

    def hangs(self) -> None:
        """Take requests and never answer."""
        self.until_released = threading.Event()

    def next_answer(self, asked: Asked) -> tuple[int, bytes]:
        self.asked.append(asked)
        if self.gives_up_on(asked):
            return 503, json.dumps(GAVE_UP).encode()
        if self.answer is not None:
            return 200, json.dumps(self.answer(asked)).encode()
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]


GAVE_UP = {"status": "error", "errorType": "timeout", "error": "query timed out in expression evaluation"}


def matrix(*series: tuple[Mapping[str, str], list[tuple[float, str]]]) -> dict[str, Any]:
    """A range query's answer."""
    rows = [{"metric": dict(labels), "values": [list(pair) for pair in values]} for labels, values in series]
    return {"status": "success", "data": {"resultType": "matrix", "result": rows}}


@contextmanager
def scripted_prometheus(port: int | None = None) -> Iterator[ScriptedPrometheus]:
    """One, on a free loopback port."""
    port = port or free_port()
    double = ScriptedPrometheus(f"http://127.0.0.1:{port}")

    class Handler(_Quiet):
        def date_time_string(self, timestamp: float | None = None) -> str:
            return super().date_time_string((timestamp or time.time()) + double.clock_ahead_s)

        def answer(self, body: str) -> None:
            parts = urlsplit(self.path)
            asked = Asked(self.command, parts.path, _flat(parts.query), _flat(body), dict(self.headers))
            if double.leads_to:
                double.asked.append(asked)
                return self.send(302, b"", "text/plain", Location=f"{double.leads_to}{self.path}")
            if double.until_released is not None:
                double.asked.append(asked)
                double.until_released.wait(30)
                return None
            return self.send(*double.next_answer(asked), "application/json", drips_every_s=double.drips_every_s)

    with _serving(port, Handler):
        try:
            yield double
        finally:
            if double.until_released is not None:
                double.until_released.set()


@contextmanager
def forgetful_prometheus() -> Iterator[ScriptedPrometheus]:
    """One that promises to keep a connection, and closes it when it is used a second time."""
    port = free_port()
    double = ScriptedPrometheus(f"http://127.0.0.1:{port}")

    class Handler(_Quiet):
        protocol_version = "HTTP/1.1"
        is_used = False

        def answer(self, body: str) -> None:
            parts = urlsplit(self.path)
            if self.is_used:
                self.close_connection = True
                return
            self.is_used = True
            self.send(*double.next_answer(Asked(self.command, parts.path, _flat(parts.query), {})), "application/json")

    with _serving(port, Handler):
        yield double


Script = Callable[[int], str | None]


@dataclass
class Exporters:
    """Several servers for Prometheus to find and scrape; each script gives the nth scrape's text, None fails it."""

    address: str
    scripts: Mapping[str, Script]
    scrapes: Counter[str] = field(default_factory=Counter)

    @property
    def discovery_url(self) -> str:
        return f"http://{self.address}/sd"

    def targets(self) -> list[dict[str, Any]]:
        """As http_sd has it: one group a server."""
        return [
            {
                "targets": [self.address],
                "labels": {"environment": "prod", "server": name, "__metrics_path__": f"/metrics/{name}"},
            }
            for name in self.scripts
        ]


@contextmanager
def exporters(scripts: Mapping[str, Script]) -> Iterator[Exporters]:
    """All on one free loopback port, which also tells Prometheus where they are."""
    port = free_port()
    double = Exporters(f"127.0.0.1:{port}", scripts)

    class Handler(_Quiet):
        def answer(self, body: str) -> None:
            if self.path == "/sd":
                return self.send(200, json.dumps(double.targets()).encode(), "application/json")
            name = self.path.rpartition("/")[2]
            text = double.scripts[name](double.scrapes[name])
            double.scrapes[name] += 1
            return self.send(200 if text is not None else 500, (text or "").encode(), "text/plain; version=0.0.4")

    with _serving(port, Handler):
        yield double


class _Quiet(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.answer("")

    def do_POST(self) -> None:
        self.answer(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())

    def answer(self, body: str) -> None:
        raise NotImplementedError

    def send(self, status: int, body: bytes, kind: str, *, drips_every_s: float = 0.0, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not drips_every_s:
            self.wfile.write(body)
            return
        for byte in body:
            self.wfile.write(bytes([byte]))
            time.sleep(drips_every_s)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    # A page asks all of its questions at once; the usual 5 would make some of them wait for a second.
    request_queue_size = 128


@contextmanager
def _serving(port: int, handler: type[BaseHTTPRequestHandler]) -> Iterator[None]:
    server = _Server(("127.0.0.1", port), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _flat(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query).items()}
