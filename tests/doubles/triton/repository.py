"""What lies in a model repository: read as Triton reads it, at each load and each index."""

import functools
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google.protobuf import json_format, text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig

from tests.doubles.triton.bucket import refresh
from tests.doubles.triton.refusals import INTERNAL, Refusal, failed_to_poll

CONFIG = "config.pbtxt"


@dataclass(frozen=True)
class Definition:
    """A model as one load finds it: its configuration, and its versions with the newest time stamp of each.

    `stamps` are ns by version; `shared_ns` is the newest of the files that belong to all versions. `files` is what
    came inside the load call.
    """

    name: str
    folder: Path
    config: Any
    stamps: Mapping[int, int]
    shared_ns: int = 0
    files: Mapping[str, bytes] = field(default_factory=dict)

    def wanted(self) -> list[int]:
        """The versions that the policy names and that are there."""
        policy, there = self.config.version_policy, sorted(self.stamps)
        if policy.HasField("specific"):
            return [number for number in there if number in policy.specific.versions]
        if policy.HasField("all"):
            return there
        return there[-(policy.latest.num_versions or 1) :]

    def source(self, number: int) -> tuple[str, bytes] | None:
        """The path and the text of the version's model.py; None where there is none."""
        filename = self.config.default_model_filename or "model.py"
        if self.files:
            content = self.files.get(f"{number}/{filename}")
            return None if content is None else (f"{number}/{filename}", content)
        file = self.folder / str(number) / filename
        return (str(file), file.read_bytes()) if file.is_file() else None


def define(root: Path, name: str, *, override: str | None, files: Mapping[str, bytes]) -> Definition:
    """The model, or the refusal that says nothing more than that it could not be polled."""
    refresh(root)
    folder = root / name
    if not files and not folder.is_dir():
        raise failed_to_poll(name)
    config = _config(folder, name, override)
    if files:
        stamps = {int(path.split("/")[0]): 0 for path in files if path.split("/")[0].isdigit()}
        return Definition(name, folder, config, stamps, files=files)
    entries = list(os.scandir(folder))
    stamps = {int(entry.name): _newest_ns(Path(entry.path)) for entry in entries if _is_version(entry)}
    others = [entry for entry in entries if entry.name != CONFIG and not _is_version(entry)]
    return Definition(
        name, folder, config, stamps, shared_ns=max((_newest_ns(Path(one.path)) for one in others), default=0)
    )


def index(root: Path) -> list[str]:
    """Every directory, hidden ones too; one dangling link makes the whole of it fail."""
    refresh(root)
    names = []
    for entry in os.scandir(root):
        if entry.is_symlink() and not os.path.exists(entry.path):
            raise Refusal(INTERNAL, f"failed to stat file {entry.path}")
        if entry.is_dir():
            names.append(entry.name)
    return sorted(names)


def persisted(root: Path) -> list[str]:
    """Models a server can be told to load at its start."""
    refresh(root)
    found = [file.parent.name for file in root.glob(f"*/{CONFIG}")]
    return sorted(name for name in found if not name.endswith(".shadow"))


def _config(folder: Path, name: str, override: str | None) -> Any:
    try:
        if override is not None:
            return _checked(parse_json(override), name)
        if not (folder / CONFIG).exists():
            return _completed(folder)
        return _checked(parse_text((folder / CONFIG).read_text()), name)
    except (OSError, ValueError, text_format.ParseError, json_format.ParseError) as error:
        raise failed_to_poll(name) from error


def _checked(config: Any, name: str) -> Any:
    if config.name not in ("", name):
        raise ValueError(f"it is named {config.name}")
    if not config.backend and not config.platform:
        raise ValueError("neither backend nor platform")
    return config


def _completed(folder: Path) -> Any:
    """Without a configuration the server tells the backend by the file it finds."""
    if not any(folder.glob("*/model.py")):
        raise ValueError("nothing tells its backend")
    return ModelConfig(backend="python")


@functools.lru_cache(maxsize=4_096)
def parse_json(text: str) -> Any:
    """A configuration as a load carries it; shared, never changed."""
    if not isinstance(json.loads(text), dict):
        raise ValueError("not an object")  # noqa: TRY004 - one kind of bad text
    return json_format.Parse(text, ModelConfig())


@functools.lru_cache(maxsize=4_096)
def parse_text(text: str) -> Any:
    """A configuration as it lies on disk; shared, never changed."""
    return text_format.Parse(text, ModelConfig())


def _is_version(entry: "os.DirEntry[str]") -> bool:
    return entry.name.isdigit() and not (entry.name.startswith("0") and entry.name != "0") and entry.is_dir()


def _newest_ns(path: Path) -> int:
    """The newest time stamp of a file, or of anything under a directory."""
    newest = path.stat().st_mtime_ns
    if path.is_dir():
        newest = max([newest, *(_newest_ns(inner) for inner in path.iterdir())])
    return newest
