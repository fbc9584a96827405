"""The shadow: the same version under a name no client is sent to, by relative links."""

import os
import shutil
from pathlib import Path

from apps.common.names import check_model_name, shadow_of
from apps.fleet.errors import VersionNotPublished
from apps.fleet.repositories.names import looks_like_version
from apps.fleet.repositories.posix import disk
from apps.fleet.repositories.posix.configs import CONFIG_FILE
from apps.fleet.repositories.posix.stamps import is_shared


def make_shadow(root: Path, *, model: str, number: int, config_text: str) -> Path:
    """`<root>/<model>.shadow` with its own configuration and `<number>` linked to the live directory.

    The files that versions share are linked too. Made aside and renamed, so no server sees half of it.
    """
    check_model_name(model)
    target = root / shadow_of(model)
    with disk.faults(root, doing=f"making the shadow of {model} {number}"):
        if not (root / model / str(number)).is_dir():
            raise VersionNotPublished(f"{root}: {model} {number} is not published there", model=model, version=number)
        links = _links(root / model, number)
        if _is_as_wanted(target, links, config_text):
            return target
        with disk.staged(root) as staging:
            fresh = staging / target.name
            fresh.mkdir()
            disk.write_text(fresh / CONFIG_FILE, config_text)
            for name, to in links.items():
                (fresh / name).symlink_to(to)
            disk.flush_directory(fresh)
            # Servers of one repository are tried side by side, and a load may be reading what another has just made.
            if not _is_as_wanted(target, links, config_text):
                _move_away(root, target, staging)
                _rename_in(fresh, target, links, config_text)
    return target


def _rename_in(fresh: Path, target: Path, links: dict[str, str], config_text: str) -> None:
    try:
        disk.rename_in(fresh, target)
    except OSError:
        if not _is_as_wanted(target, links, config_text):
            raise


def remove_shadow(root: Path, *, model: str) -> bool:
    """Take the shadow away whole; False when there was none."""
    check_model_name(model)
    target = root / shadow_of(model)
    with disk.faults(root, doing=f"removing the shadow of {model}"):
        if not os.path.lexists(target):
            return False
        with disk.staged(root) as staging:
            _move_away(root, target, staging)
    return True


def _links(model_directory: Path, number: int) -> dict[str, str]:
    """Name -> relative target: the version, and whatever is neither a version nor the configuration."""
    up = f"../{model_directory.name}"
    shared = [
        entry.name
        for entry in os.scandir(model_directory)
        if is_shared(entry.name) and not looks_like_version(entry.name) and os.path.exists(entry.path)
    ]
    return {name: f"{up}/{name}" for name in [str(number), *sorted(shared)]}


def _is_as_wanted(target: Path, links: dict[str, str], config_text: str) -> bool:
    config = target / CONFIG_FILE
    if target.is_symlink() or not config.is_file() or config.read_text(encoding="utf-8") != config_text:
        return False
    found = {entry.name: os.readlink(entry.path) for entry in os.scandir(target) if entry.is_symlink()}
    return found == links and len(os.listdir(target)) == len(links) + 1


def _move_away(root: Path, target: Path, staging: Path) -> None:
    """Out of the root in one step, whatever it is; what it points at stays."""
    if not os.path.lexists(target):
        return
    away = staging / "away"
    try:
        target.rename(away)
    except FileNotFoundError:
        return  # another worker was as fast
    disk.flush_directory(root)
    if away.is_dir() and not away.is_symlink():
        shutil.rmtree(away)
    else:
        away.unlink()
