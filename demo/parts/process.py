"""A child process that cannot outlive its parent."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from demo.parts.errors import PartDied, PartMissing, PartNotReady

GUARDIAN = Path(__file__).with_name("guardian.py")


class Child:
    """One command under a guardian: started, waited for, signalled, stopped.

    When this process ends, however it ends, so do the command and all its descendants
    (see guardian.py). Output goes to `log`, which is appended to.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        grace_s: float = 3.0,
    ) -> None:
        self.name = name
        self.command = [str(word) for word in command]
        self.log = log
        self.pid = 0
        self._env = dict(env) if env is not None else None
        self._cwd = cwd
        self._grace_s = grace_s
        self._guardian: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the command; PartMissing when there is no such program."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        guard = [sys.executable, "-I", "-S", str(GUARDIAN), str(self._grace_s)]
        with self.log.open("ab") as log:
            self._guardian = subprocess.Popen(
                [*guard, *self.command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._env,
                cwd=self._cwd,
            )
        assert self._guardian.stdout is not None
        answer = self._guardian.stdout.readline().decode(errors="replace").strip()
        if not answer.isdigit():
            self._close()
            raise PartMissing(f"{self.name}: cannot start: {answer or self.log_tail()}")
        self.pid = int(answer)

    @property
    def is_running(self) -> bool:
        """True from start() until the command has ended."""
        return self._guardian is not None and self._guardian.poll() is None

    @property
    def exit_code(self) -> int | None:
        """The command's exit code (256 - n when signal n ended it); None while it runs."""
        return None if self._guardian is None else self._guardian.poll()

    def wait_until(self, is_ready: Callable[[], bool], *, timeout_s: float = 30.0) -> None:
        """Ask `is_ready` until it says True; PartDied or PartNotReady with the log's end."""
        deadline = time.monotonic() + timeout_s
        pause_s = 0.01
        while not is_ready():
            if not self.is_running:
                self._close()
                raise PartDied(f"{self.name}: ended with code {self.exit_code}\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise PartNotReady(f"{self.name}: no answer in {timeout_s:g} s\n{self.log_tail()}")
            time.sleep(pause_s)
            pause_s = min(0.2, pause_s * 1.3)

    def finish(self, *, timeout_s: float) -> None:
        """Wait until the command ends by itself; PartDied unless with code 0."""
        assert self._guardian is not None
        try:
            code = self._guardian.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise PartNotReady(f"{self.name}: not done in {timeout_s:g} s\n{self.log_tail()}") from None
        self._close()
        if code:
            raise PartDied(f"{self.name}: failed with code {code}\n{self.log_tail()}")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the command; nothing when it has ended."""
        if self._guardian is not None and self._guardian.stdin is not None and self.is_running:
            try:
                os.write(self._guardian.stdin.fileno(), bytes([number]))
            except BrokenPipeError:
                return

    def stop(self, *, timeout_s: float = 10.0) -> None:
        """SIGTERM, then SIGKILL after the deadline; returns when nothing is left."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        self._end(timeout_s=timeout_s)

    def kill(self) -> None:
        """SIGKILL to the whole group; returns when nothing is left."""
        self.signal(signal.SIGKILL)
        self._end(timeout_s=10.0)

    def pause(self) -> None:
        """SIGSTOP: still there, answers nothing from the moment this returns."""
        self.signal(signal.SIGSTOP)
        # The guardian passes the signal on, and a thread that runs stops a little later.
        self.wait_until(lambda: is_stopped(self.pid), timeout_s=10)

    def resume(self) -> None:
        """SIGCONT after pause(); it runs again when this returns."""
        self.signal(signal.SIGCONT)
        self.wait_until(lambda: not is_stopped(self.pid), timeout_s=10)

    def log_tail(self, *, lines: int = 15) -> str:
        """The last lines of the log, indented, with the log's path."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        tail = text.splitlines()[-lines:] or ["(nothing logged)"]
        return "\n".join([f"  last lines of {self.log}:", *(f"    {line[:400]}" for line in tail)])

    def _end(self, *, timeout_s: float) -> None:
        if self._guardian is None:
            return
        try:
            self._guardian.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            self._guardian.wait(20)
        self._close()

    def _close(self) -> None:
        assert self._guardian is not None
        for pipe in (self._guardian.stdin, self._guardian.stdout):
            if pipe is not None:
                pipe.close()
        self._guardian.wait(20)


def is_stopped(pid: int) -> bool:
    """True when each thread of a process is stopped, by /proc/<pid>/task/<thread>/stat (proc(5))."""
    try:
        stats = [stat.read_text(errors="replace") for stat in Path(f"/proc/{pid}/task").glob("*/stat")]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return bool(stats) and all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)
