"""The state folder: where everything lies, the secrets, and the ports chosen last time."""

import fcntl
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from demo.parts.errors import PartError
from demo.parts.ports import free_port, wait_until_free

REPOSITORY = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Home:
    """`state` is this stack's own; `shared` holds what is slow to fetch and same for all."""

    state: Path
    shared: Path

    @classmethod
    def choose(cls, *, is_bare: bool) -> "Home":
        """$CONCH_HOME, else `.conch` for the demo and `.conch/run` for a bare stack."""
        if named := os.environ.get("CONCH_HOME"):
            return cls(state=Path(named).resolve(), shared=Path(named).resolve())
        shared = REPOSITORY / ".conch"
        return cls(state=shared / "run" if is_bare else shared, shared=shared)

    @property
    def packages(self) -> Path:
        """Unpacked Debian packages."""
        return self.shared / "packages"

    @property
    def logs(self) -> Path:
        """Of Conch's own processes; the others log beside their state."""
        return self.state / "logs"

    def make(self) -> None:
        """Make the folder, readable by its owner only: secrets lie in it."""
        self.state.mkdir(parents=True, exist_ok=True)
        self.state.chmod(0o700)
        (self.state / "secrets").mkdir(mode=0o700, exist_ok=True)

    def secret_file(self, name: str) -> Path:
        """Where the secret of that name lies."""
        return self.state / "secrets" / name

    def secret(self, name: str, *, size_bytes: int = 48) -> str:
        """The secret of that name, made at the first time, mode 0600."""
        file = self.secret_file(name)
        if not file.exists():
            write_privately(file, secrets.token_urlsafe(size_bytes))
        return file.read_text().strip()

    def port(self, name: str, *, preferred: int | None = None, is_fixed: bool = False) -> int:
        """`preferred`, else the port this name had last time, else another free one.

        A port of last time is waited for: a stack that was killed needs a moment to end.
        With `is_fixed` it is that one or PartError: somebody has written it down.
        """
        file = self.state / "ports.json"
        kept: dict[str, int] = json.loads(file.read_text()) if file.exists() else {}
        last = kept.get(name)
        if last is not None and preferred in {None, last} and not wait_until_free(last) and is_fixed:
            raise PartError(
                f"Port {last}, which is {name}'s, is taken by another program.",
                hint=f"End that program, or delete {self.state} to start afresh.",
            )
        kept[name] = free_port(preferred=preferred or last)
        file.write_text(json.dumps(kept, indent=2))
        return kept[name]

    def take(self) -> None:
        """Hold this folder until the process ends; PartError when another stack has it."""
        holder = os.open(self.state / "running.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PartError(
                f"A stack is already running in {self.state}.",
                hint="Stop it first, or set CONCH_HOME to another folder.",
            ) from None


def write_privately(file: Path, text: str) -> None:
    """Write the file whole or not at all, mode 0600."""
    beside = file.with_name(f".{file.name}.new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)
    beside.replace(file)
