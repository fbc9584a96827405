"""What differs between two versions of a model: configuration by meaning, files by content. Pure."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.serving import backends
from apps.serving.configuration import ConfigDifference


@dataclass(frozen=True, slots=True)
class FileDifference:
    """One file that is not the same on both sides; sizes in bytes, None where it is absent."""

    path: str
    before_bytes: int | None
    after_bytes: int | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """From one version to another. `text` is a unified diff of both configurations written the same way."""

    config: tuple[ConfigDifference, ...]
    files: tuple[FileDifference, ...]
    text: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """Whether a server would do the same with both."""
        return not self.config and not self.files


def compare(one: Any, other: Any) -> Comparison:
    """From version `one` to version `other`; rows with `config`, `number` and `artifact`."""
    config_format = backends.get("triton").CONFIG
    names = f"version {one.number}", f"version {other.number}"
    before, after = (config_format.render(version.config).splitlines() for version in (one, other))
    return Comparison(
        config=config_format.differences(one.config, other.config),
        files=tuple(_file_differences(_files(one), _files(other))),
        text=tuple(difflib.unified_diff(before, after, *names, lineterm="")),
    )


def _files(version: Any) -> Mapping[str, Mapping[str, Any]]:
    lines: Sequence[Mapping[str, Any]] = version.artifact.files if version.artifact else ()
    # The configuration is compared by meaning already.
    return {str(line["path"]): line for line in lines if line["path"] != "config.pbtxt"}


def _file_differences(
    before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]]
) -> list[FileDifference]:
    paths = sorted({*before, *after})
    changed = [path for path in paths if _digest(before, path) != _digest(after, path)]
    return [FileDifference(path, _size(before, path), _size(after, path)) for path in changed]


def _digest(lines: Mapping[str, Mapping[str, Any]], path: str) -> str:
    return str(lines[path]["sha256"]) if path in lines else ""


def _size(lines: Mapping[str, Mapping[str, Any]], path: str) -> int | None:
    return int(lines[path]["size_bytes"]) if path in lines else None
