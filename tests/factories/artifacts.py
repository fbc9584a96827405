"""Sealed artifacts, laid out as the registry does, without a database."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class SealedArtifact:
    """An artifact's directory and its manifest."""

    directory: Path
    files: list[dict[str, Any]]


def artifact(directory: Path, contents: Mapping[str, bytes]) -> SealedArtifact:
    """An artifact that holds these files: `version/...` and `shared/...`."""
    files = []
    for path, content in contents.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_bytes(content)
        files.append({"path": path, "size_bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()})
    return SealedArtifact(directory, files)
