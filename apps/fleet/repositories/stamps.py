"""What a server would see in a model's directory: time stamps, and names it would misread."""

import os
import re
from pathlib import Path

from apps.common.names import MAX_VERSION, check_name
from apps.fleet.repositories import disk

_EXACT = re.compile(r"[1-9][0-9]{0,18}")
# Servers read leading digits, signs and blanks as a number: `2.tmp` becomes version 2 and hangs a load.
_LIKE = re.compile(r"[\s+\-._]*[vV]?[\s+\-._]*\d")


def newest_stamp_ns(root: Path, *, model: str, number: int) -> int | None:
    """The newest modification time at or under the version's directory, None when it is not there.

    The directories' own stamps count, as they do for the server.
    """
    check_name(model, what="model")
    top = root / model / str(number)
    with disk.faults(root, doing=f"reading the time stamps of {model} {number}"):
        return _newest(top) if top.is_dir() else None


def _newest(top: Path) -> int:
    newest = top.stat().st_mtime_ns
    for directory, folders, files in os.walk(top):
        for name in (*folders, *files):
            newest = max(newest, _stamp(os.path.join(directory, name)))
    return newest


def _stamp(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return 0  # byte code is replaced while we look


def is_version_name(name: str) -> bool:
    """Whether a directory of that name is a version, in the exact decimal form."""
    return bool(_EXACT.fullmatch(name)) and int(name) <= MAX_VERSION


def looks_like_version(name: str) -> bool:
    """Whether a server might read the name as a version, exact or not."""
    return bool(_LIKE.match(name))


def strange_entries(root: Path, *, model: str) -> list[str]:
    """Names in the model's directory that hang or break a load: look-alikes of versions, links to nowhere."""
    check_name(model, what="model")
    with disk.faults(root, doing=f"reading the directory of {model}"):
        if not (root / model).is_dir():
            return []
        return sorted(entry.name for entry in os.scandir(root / model) if _is_strange(entry))


def _is_strange(entry: "os.DirEntry[str]") -> bool:
    if not os.path.exists(entry.path):
        return True
    return entry.is_dir() and looks_like_version(entry.name) and not is_version_name(entry.name)
