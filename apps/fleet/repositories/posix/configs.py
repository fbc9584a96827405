"""The persisted configuration: what a server that is restarted alone comes back with."""

from pathlib import Path

from apps.common.names import check_model_name
from apps.fleet.repositories.posix import disk

CONFIG_FILE = "config.pbtxt"


def write_config(root: Path, *, model: str, text: str) -> bool:
    """Put `text` in place as the model's configuration in one step; False when it was there already."""
    if read_config(root, model=model) == text:
        return False
    with disk.faults(root, doing=f"writing the configuration of {model}", needed_bytes=len(text)):
        directory = root / model
        directory.mkdir(exist_ok=True)
        with disk.staged(root) as staging:
            fresh = staging / CONFIG_FILE
            disk.write_text(fresh, text)
            disk.rename_in(fresh, directory / CONFIG_FILE)
    return True


def read_config(root: Path, *, model: str) -> str | None:
    """The model's configuration as it lies there, None when there is none."""
    check_model_name(model)
    with disk.faults(root, doing=f"reading the configuration of {model}"):
        try:
            return (root / model / CONFIG_FILE).read_bytes().decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            return None


def remove_model_config(root: Path, *, model: str) -> bool:
    """Take the configuration away, so that a restarted server no longer loads the model; False when there was none."""
    check_model_name(model)
    with disk.faults(root, doing=f"removing the configuration of {model}"):
        try:
            (root / model / CONFIG_FILE).unlink()
        except FileNotFoundError:
            return False
        disk.flush_directory(root / model)
    return True
