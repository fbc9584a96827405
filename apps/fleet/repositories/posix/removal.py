"""Taking versions out of a repository that nobody needs any more."""

from collections.abc import Collection, Mapping
from pathlib import Path

from apps.common.names import check_model_name
from apps.fleet.repositories.posix import disk
from apps.fleet.repositories.posix.configs import read_config


def remove_versions(root: Path, *, gone: Mapping[str, Collection[int]]) -> list[str]:
    """Take these versions' directories away, each in one step; which were there, as `model/number`.

    One that the persisted configuration still names stays: a server that is restarted alone would miss it.
    """
    removed = []
    with disk.faults(root, doing="removing versions that are kept no longer"):
        for model, numbers in sorted(gone.items()):
            check_model_name(model)
            named = (read_config(root, model=model) or "").splitlines()
            for number in sorted(numbers):
                is_named = any(line.strip() == f"versions: {number}" for line in named)
                if (root / model / str(number)).is_dir() and not is_named:
                    _take_away(root, model, number)
                    removed.append(f"{model}/{number}")
    return removed


def _take_away(root: Path, model: str, number: int) -> None:
    """What is renamed into the staging directory is removed with it."""
    with disk.staged(root) as staging:
        (root / model / str(number)).rename(staging / str(number))
        disk.flush_directory(root / model)
