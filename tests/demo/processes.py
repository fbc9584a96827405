"""Which processes of this machine mention a word in their command line."""

import contextlib
import time
from pathlib import Path


def command_lines(word: str) -> list[str]:
    """The command lines of living processes with `word` in them (zombies have none)."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            found += [line] if word in line else []
    return found


def wait_for_none(word: str, *, timeout_s: float) -> list[str]:
    """Empty as soon as no such process is left; the ones still there at the deadline."""
    deadline = time.monotonic() + timeout_s
    while (left := command_lines(word)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def process_ids(word: str, *, home: Path) -> list[int]:
    """Processes with `word` in their command line that run for the stack in `home`; guardians left out."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            variables = (entry / "environ").read_bytes().split(b"\0")
            is_ours = f"CONCH_HOME={home}".encode() in variables or f"{home}/" in line
            found += [int(entry.name)] if is_ours and word in line and "guardian.py" not in line else []
    return sorted(found)
