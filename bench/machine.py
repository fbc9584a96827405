"""On what and of what a figure was measured; nothing that tells one host from another."""

import os
import platform
import subprocess
from pathlib import Path

from demo.home import REPOSITORY

# What a run itself writes does not make the code another one.
WRITTEN = (":!bench/results", ":!docs/performance.md")


def describe_machine(*, triton: str) -> dict[str, object]:
    """Cores, memory, processor, Python and Triton release."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(pages / 2**30),
        "cpu": _cpu(),
        "python": platform.python_version(),
        "triton": triton,
    }


def commit() -> str:
    """The commit measured, with `+changes` when the working tree is another than that."""
    head = _git("rev-parse", "--short=12", "HEAD")
    is_changed = bool(_git("status", "--porcelain", "--", ".", *WRITTEN))
    return f"{head or 'unknown'}{'+changes' if is_changed else ''}"


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _git(*words: str) -> str:
    """What git says; empty outside a repository or without git."""
    try:
        done = subprocess.run(["git", *words], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
