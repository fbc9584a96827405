"""A real Prometheus that takes its time, as one with years of a large fleet does, and counts what it is asked."""

import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit
from zlib import crc32

# Each query takes longer by one of these, always the same one.
DELAYS_S = (0.05, 0.1, 0.2, 0.4)


@dataclass
class Asked:
    """What was asked since the last look: each query and how long its answer took, in milliseconds."""

    took_ms: list[tuple[str, float]] = field(default_factory=list)

    def taken(self) -> list[tuple[str, float]]:
        """What was asked; forgotten after."""
        found, self.took_ms = self.took_ms, []
        return found


@contextmanager
def slow_prometheus(url: str, *, port: int) -> Iterator[Asked]:
    """In front of the one at `url`, on a loopback port."""
    asked = Asked()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._pass_on(None)

        def do_POST(self) -> None:
            self._pass_on(self.rfile.read(int(self.headers.get("Content-Length", 0))))

        def _pass_on(self, body: bytes | None) -> None:
            begin_s = time.perf_counter()
            text = body.decode() if body else urlsplit(self.path).query
            query = parse_qs(text).get("query", [""])[0]
            status, answer = _ask(url + self.path, body)
            time.sleep(DELAYS_S[crc32(query.encode()) % len(DELAYS_S)])
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)
            asked.took_ms.append((query, (time.perf_counter() - begin_s) * 1000))

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = _Server(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def _ask(url: str, body: bytes | None) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(url, data=body, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read()
