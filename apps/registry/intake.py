"""What an upload is: unpacked, laid out, its configuration read or made, and all checked that needs no server."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps.common.text import printable
from apps.registry import archives, configuration, refusals
from apps.registry.arranging import SHARED_FOLDER, VERSION_FOLDER, place_of, remarks
from apps.registry.bare import Bare, by_filename
from apps.registry.inspection import inspect, subject_of
from apps.registry.layout import CONFIG_FILE, Layout, find_layout
from apps.registry.unpacking import Limits, Unpacked, take_file, unpack
from apps.serving import backends
from apps.serving.configuration import ModelConfig
from apps.serving.preflight import Severity

__all__ = ["Checked", "Limits", "Upload", "check", "recheck"]


@dataclass(frozen=True, slots=True)
class Upload:
    """What came: the file, its name as the sender gave it, and what was said about it.

    `version_directory` is the one that is meant where there are several; `earlier_config` is the configuration
    of the model's last version, for a file that came without one.
    """

    path: Path
    filename: str = ""
    version_directory: str = ""
    earlier_config: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """An upload that passed: the directory to be sealed, its manifest and its configuration.

    `part` names what was taken of an upload that holds more.
    """

    directory: Path
    files: tuple[dict[str, Any], ...]
    unpacked_bytes: int
    config_text: str
    config: ModelConfig
    inspection: Mapping[str, Any]
    remarks: tuple[str, ...]
    part: str = ""

    def address(self, digest: str) -> str:
        """What the artifact is found by: the upload's SHA-256, or one of its own for a part of an upload."""
        return hashlib.sha256(f"{digest}/{self.part}".encode()).hexdigest() if self.part else digest


def check(
    upload: Upload, staging: Path, *, model: str, number: int, limits: Limits, on_progress: Callable[[], None]
) -> Checked:
    """Unpack into `staging` and check; a Refused or ConfigUnparsable says what is wrong and where.

    `on_progress` is called every few MiB; what it raises ends the check.
    """
    tree, sealed = staging / "unpacked", staging / "sealed"
    tree.mkdir()
    unpacked = _bring(upload, tree, limits=limits, on_progress=on_progress)
    layout = find_layout([file.path for file in unpacked.files], unpacked.directories, version=upload.version_directory)
    files = _arrange(tree, sealed, layout, unpacked)
    text, made = _configure(sealed, layout, upload.earlier_config)
    config = configuration.parse(text)
    _require_name(config, model)
    _require_content(config, layout, files)
    inspection, told = _hold_against_rules(model, config, files, sealed)
    return Checked(
        directory=sealed,
        files=tuple(files),
        unpacked_bytes=sum(file["size_bytes"] for file in files),
        config_text=text,
        config=config,
        inspection=inspection,
        remarks=(*remarks(layout, unpacked.dropped, model=model, number=number), *made, *told),
        part=layout.version if layout.others else "",
    )


def _bring(upload: Upload, tree: Path, *, limits: Limits, on_progress: Callable[[], None]) -> Unpacked:
    """An archive's entries, or the one file by itself. A .pt is a .zip too, so its name decides."""
    name = by_filename(upload.filename)
    is_file = name is not None and (name == "model.pt" or not archives.is_archive(upload.path))
    if name is not None and is_file:
        return take_file(upload.path, tree, name=name, limits=limits, on_progress=on_progress)
    return unpack(upload.path, tree, limits=limits, on_progress=on_progress)


def _arrange(tree: Path, sealed: Path, layout: Layout, unpacked: Unpacked) -> list[dict[str, Any]]:
    """Every file to its place in the artifact; the manifest."""
    for folder in (VERSION_FOLDER, SHARED_FOLDER):
        (sealed / folder).mkdir(parents=True)
    lines = []
    for file in unpacked.files:
        place = place_of(layout, file.path)
        if place is not None:
            target = sealed / place
            target.parent.mkdir(parents=True, exist_ok=True)
            tree.joinpath(*file.path).rename(target)
            lines.append({"path": place, "size_bytes": file.size_bytes, "sha256": file.sha256})
    return sorted(lines, key=lambda line: str(line["path"]))


def _configure(sealed: Path, layout: Layout, earlier: str) -> tuple[str, tuple[str, ...]]:
    """The configuration that came, or one that is made and laid beside the files; with what is to be said of it."""
    if layout.has_config or layout.bare is None:
        return configuration.read_text(sealed / CONFIG_FILE), ()
    text, said = _made(sealed, layout.bare, earlier)
    (sealed / CONFIG_FILE).write_text(text)
    return text, (said,)


def _made(sealed: Path, bare: Bare, earlier: str) -> tuple[str, str]:
    config_format = backends.get("triton").CONFIG
    file = sealed / VERSION_FOLDER / bare.name
    before = config_format.parse(earlier) if earlier else None
    is_alike = before is not None and config_format.backend_of(before.document, ()) == bare.backend
    made = config_format.make(file, backend=bare.backend)
    if is_alike and bare.backend != "onnxruntime":
        return earlier, "There was no config.pbtxt: the one of the model's last version is used."
    if made is None:
        raise refusals.ConfigNeeded(
            f"{bare.name} does not tell its inputs and outputs, and there is no {CONFIG_FILE}",
            hint=f"Put {CONFIG_FILE} beside it, with backend, input and output.",
        )
    return config_format.render(made), f"There was no config.pbtxt: one was made from {bare.name}."


def recheck(
    sealed: Path, *, model: str, files: Sequence[dict[str, Any]], unpacked_bytes: int, remarks: Sequence[str]
) -> Checked:
    """Bytes that passed before, for another version: what depends on the model is checked again."""
    text = configuration.read_text(sealed / CONFIG_FILE)
    config = configuration.parse(text)
    _require_name(config, model)
    inspection, told = _hold_against_rules(model, config, files, sealed)
    return Checked(sealed, tuple(files), unpacked_bytes, text, config, inspection, (*remarks, *told))


def _hold_against_rules(
    model: str, config: ModelConfig, files: Sequence[dict[str, Any]], directory: Path
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What the sources say, and what the rules remark; RulesBroken tells every broken rule at once."""
    inspection = inspect(config.document, files, lambda path: (directory / path).read_bytes())
    findings = backends.get("triton").CONFIG.examine(subject_of(model, config.document, files, inspection))
    errors = [finding for finding in findings if finding.severity == Severity.ERROR]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise refusals.RulesBroken(
            f"{CONFIG_FILE}: {errors[0].message}{more}",
            hint=errors[0].mend,
            findings=[finding.document() for finding in errors],
        )
    return inspection, tuple(f"{finding.message}." for finding in findings)


def _require_name(config: ModelConfig, model: str) -> None:
    if config.name and config.name != model:
        raise refusals.NameMismatch(
            CONFIG_FILE,
            f"it names the model {printable(config.name, limit=140)!r}, this is {model!r}",
            hint=f'Write name: "{model}" into it, or leave the name out.',
        )


def _require_content(config: ModelConfig, layout: Layout, files: Sequence[Mapping[str, Any]]) -> None:
    """A server hangs for ever on a version without the file its backend loads."""
    inside = [str(file["path"]).removeprefix("version/") for file in files if str(file["path"]).startswith("version/")]
    where = f"{layout.version}/" if layout.version else ""
    if not inside and not config.is_ensemble:
        raise refusals.VersionEmpty(where)
    needed = backends.get("triton").CONFIG.required_file(config.document)
    if needed and not any(path == needed or path.startswith(f"{needed}/") for path in inside):
        raise refusals.ModelFileMissing(
            f"{where}{needed}",
            f"the backend {config.backend or config.platform!r} loads this file, and it is not in the archive",
            hint=f"Put {needed} into the version directory, or name another file as default_model_filename.",
        )
