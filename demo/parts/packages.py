"""Debian packages, fetched and unpacked into a folder of our own: no root needed."""

import fcntl
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from demo.parts.errors import PartMissing

FETCH_TIMEOUT_S = 240


def unpack_package(name: str, *, into: Path) -> Path:
    """The folder with the package's files, e.g. `into/prometheus/usr/bin/...`.

    Fetched with apt-get once; PartMissing with what to install when that cannot be done.
    """
    folder = into / name
    into.mkdir(parents=True, exist_ok=True)
    with (into / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _fetch(name, into=into, folder=folder)
    return folder


def _fetch(name: str, *, into: Path, folder: Path) -> None:
    hint = f"Install it: sudo apt-get install {name}"
    for program in ("apt-get", "dpkg"):
        if shutil.which(program) is None:
            raise PartMissing(f"{name}: not installed, and no {program} to fetch it with", hint=hint)
    incoming = into / f"{name}.incoming"
    shutil.rmtree(incoming, ignore_errors=True)
    incoming.mkdir()
    trouble = _download(name, incoming=incoming, own_lists=into / "apt")
    archives = list(incoming.glob("*.deb"))
    if not archives:
        raise PartMissing(f"{name}: not installed, and apt-get cannot fetch it: {trouble}", hint=hint)
    unpacked = incoming / "files"
    _run(["dpkg", "-x", str(archives[0]), str(unpacked)], cwd=incoming)
    unpacked.rename(folder)
    shutil.rmtree(incoming)


def _download(name: str, *, incoming: Path, own_lists: Path) -> str:
    """Try with the machine's package lists, then with lists of our own; what went wrong."""
    trouble = _run(["apt-get", "download", name], cwd=incoming)
    if not trouble:
        return ""
    (own_lists / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (own_lists / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    places = ["-o", f"Dir::State::lists={own_lists}/lists", "-o", f"Dir::Cache={own_lists}/cache"]
    return _run(["apt-get", *places, "update"], cwd=incoming) or (
        _run(["apt-get", *places, "download", name], cwd=incoming) and trouble
    )


def _run(command: Sequence[str], *, cwd: Path) -> str:
    """Empty when it went well, else the last line it said."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S, check=False)
    said = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
    return said[-1] if done.returncode else ""
