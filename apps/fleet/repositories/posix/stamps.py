"""What a server would see in a model's directory: time stamps, and names it would misread."""

import os
from pathlib import Path

from apps.common.names import check_name
from apps.fleet.repositories.names import is_version_name, looks_like_version
from apps.fleet.repositories.posix import disk
from apps.fleet.repositories.posix.configs import CONFIG_FILE


def newest_stamp_ns(root: Path, *, model: str, number: int) -> int | None:
    """The newest time stamp that makes a server load the version again once it moves; None when it is not there.

    That is any under the version's directory, or under what all versions share, directories included;
    not the configuration's, nor another version's. Servers take the later of modification and change
    time (measured), so a rename, a chmod or another hard link moves it too.
    """
    check_name(model, what="model")
    home = root / model
    with disk.faults(root, doing=f"reading the time stamps of {model} {number}"):
        if not (home / str(number)).is_dir():
            return None
        shared = [entry.path for entry in os.scandir(home) if is_shared(entry.name)]
        return max(_newest(path) for path in (str(home / str(number)), *shared))


def _newest(top: str) -> int:
    newest = _stamp(top)
    for directory, folders, files in os.walk(top):
        for name in (*folders, *files):
            newest = max(newest, _stamp(os.path.join(directory, name)))
    return newest


def _stamp(path: str) -> int:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return 0  # byte code is replaced while we look
    return max(found.st_mtime_ns, found.st_ctime_ns)


def is_shared(name: str) -> bool:
    """Whether an entry of a model's directory belongs to all its versions."""
    return name != CONFIG_FILE and not is_version_name(name)


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
