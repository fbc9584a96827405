"""A tracking server as MLflow 2 speaks it over REST: the registry and the artifact proxy, for reading."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from urllib.parse import parse_qs, unquote, urlsplit

API = "/api/2.0/mlflow/model-versions/get-download-uri"
FILES = "/api/2.0/mlflow-artifacts/artifacts"


@dataclass
class Tracking:
    """A running server: where versions lie by (name, version), files by path, and the tokens it was shown."""

    url: str
    locations: dict[tuple[str, str], str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    tokens: list[str] = field(default_factory=list)
    status: int = 200
    is_dripping: bool = False
    stopped: Event = field(default_factory=Event)


class _Handler(BaseHTTPRequestHandler):
    tracking: Tracking

    def do_GET(self) -> None:
        """Registry or files."""
        self.tracking.tokens.append(self.headers.get("Authorization", ""))
        parts = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if self.tracking.status != 200:
            self.answer(self.tracking.status, {"error_code": "TEMPORARILY_UNAVAILABLE"})
        elif parts.path == API:
            self.location(asked)
        elif parts.path == FILES:
            self.answer(200, {"files": list(_level(self.tracking.files, asked.get("path", "")))})
        else:
            self.file(unquote(parts.path.removeprefix(f"{FILES}/")))

    def location(self, asked: dict[str, str]) -> None:
        """Where a version's files lie."""
        found = self.tracking.locations.get((asked["name"], asked["version"]))
        told = {"artifact_uri": found} if found else {"error_code": "RESOURCE_DOES_NOT_EXIST"}
        self.answer(200 if found else 404, told)

    def file(self, path: str) -> None:
        """One file."""
        content = self.tracking.files.get(path)
        self.send_response(404 if content is None else 200)
        self.end_headers()
        self.wfile.write(content or b"")

    def answer(self, status: int, told: object) -> None:
        """JSON."""
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(told).encode())
        while self.tracking.is_dripping and not self.tracking.stopped.wait(0.01):
            self.wfile.write(b" ")

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def mlflow_server() -> Iterator[Tracking]:
    """Start one."""
    tracking = Tracking("")
    handler = type("Handler", (_Handler,), {"tracking": tracking})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    tracking.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield tracking
    finally:
        tracking.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _level(files: dict[str, bytes], folder: str) -> Iterator[dict[str, object]]:
    """One level of a folder, as the proxy lists it: names alone, not paths."""
    inside = [path.removeprefix(f"{folder}/") for path in files if path.startswith(f"{folder}/")]
    for name in sorted({path.partition("/")[0] for path in inside}):
        whole = files.get(f"{folder}/{name}")
        yield (
            {"path": name, "is_dir": True}
            if whole is None
            else {
                "path": name,
                "is_dir": False,
                "file_size": len(whole),
            }
        )
