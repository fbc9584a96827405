"""The repository's directory as a whole: is it usable, what is in it, what was left in it."""

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from apps.common.names import SHADOW_SUFFIX
from apps.fleet.errors import RepositoryMissing, RepositoryNotWritable, RepositoryOnOwnMount
from apps.fleet.repositories.posix import disk

MARKER_PREFIX = "conch_asks_"
# Younger leftovers may be somebody's work of this moment.
LEFTOVER_AGE_S = 60
STAGING_AGE_S = 6 * 3_600


def check_root(root: Path) -> None:
    """Prove that files can be staged beside the root and renamed into it, or say what is in the way."""
    if not root.is_dir():
        raise RepositoryMissing(f"{root}: there is no such directory", path=str(root))
    if root.stat().st_dev != Path(os.path.abspath(root)).parent.stat().st_dev:
        raise RepositoryOnOwnMount(f"{root}: it lies on another file system than {root.parent}", path=str(root))
    try:
        with disk.staged(root):
            pass
        handle, name = tempfile.mkstemp(dir=root, prefix=".conch-")
        os.close(handle)
        os.unlink(name)
    except OSError as error:
        raise RepositoryNotWritable(f"{root}: {error.strerror or error}", path=str(root)) from error


def listing(root: Path) -> list[str]:
    """Every directory in the root, hidden ones too: what a server that reads it lists as models."""
    with disk.faults(root, doing="reading the directory"):
        return sorted(entry.name for entry in os.scandir(root) if entry.is_dir())


def free_bytes(root: Path) -> int:
    """Room left on the root's file system."""
    with disk.faults(root, doing="reading the free space"):
        return shutil.disk_usage(root).free


@contextmanager
def marker(root: Path) -> Iterator[str]:
    """An empty directory of a fresh name: whoever lists it in its index reads this very directory."""
    name = f"{MARKER_PREFIX}{secrets.token_hex(8)}{SHADOW_SUFFIX}"
    with disk.faults(root, doing="placing a marker"):
        (root / name).mkdir()
    try:
        yield name
    finally:
        shutil.rmtree(root / name, ignore_errors=True)


def sweep(root: Path, *, keep_shadows: Collection[str], older_than_s: float = LEFTOVER_AGE_S) -> list[str]:
    """Remove what died workers left: shadows of models not in `keep_shadows`, markers, old staging.

    Returns the names of the removed directories of the root.
    """
    with disk.faults(root, doing="sweeping"):
        kept = {f"{model}{SHADOW_SUFFIX}" for model in keep_shadows}
        stale = [
            entry.name
            for entry in os.scandir(root)
            if entry.name.endswith(SHADOW_SUFFIX) and entry.name not in kept and _age_s(entry.path) >= older_than_s
        ]
        for name in stale:
            _remove(root, name)
        _sweep_staging(disk.staging_root(root))
        return sorted(stale)


def _remove(root: Path, name: str) -> None:
    with disk.staged(root) as staging:
        (root / name).rename(staging / "away")
        if (staging / "away").is_symlink():
            (staging / "away").unlink()


def _sweep_staging(staging: Path) -> None:
    if not staging.is_dir():
        return
    for entry in os.scandir(staging):
        if _age_s(entry.path) >= STAGING_AGE_S:
            shutil.rmtree(entry.path, ignore_errors=True)


def _age_s(path: str) -> float:
    return time.time() - os.lstat(path).st_mtime
