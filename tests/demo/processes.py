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
