"""Unpacking an upload and checking all that can be known before a server sees it."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from apps.common.text import printable
from apps.registry import archives, refusals
from apps.registry.archives import EntryKind
from apps.registry.inspection import inspect, subject_of
from apps.registry.layout import CONFIG_FILE, Layout, find_layout
from apps.registry.paths import Census, Parts, is_junk, parts_of
from apps.registry.placeholders import Placeholder, find_placeholder, find_word
from apps.serving import backends
from apps.serving.errors import ConfigUnparsable
from apps.serving.preflight import Severity
from apps.serving.protocol import ModelConfig

CHUNK_BYTES = 1 << 20
MAX_CONFIG_BYTES = 1 << 20
# How many dropped entries a remark names.
NAMED = 5
VERSION_FOLDER, SHARED_FOLDER = "version", "shared"


@dataclass(frozen=True, slots=True)
class Limits:
    """What an archive may hold; `unpacked_bytes` counts what really comes out."""

    entries: int
    unpacked_bytes: int


@dataclass(frozen=True, slots=True)
class UnpackedFile:
    """One file that came out of the archive."""

    path: Parts
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What came out, and what was left out as of no use to any server."""

    files: tuple[UnpackedFile, ...]
    directories: frozenset[Parts]
    dropped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """An upload that passed: the directory to be sealed, its manifest and its configuration."""

    directory: Path
    files: tuple[dict[str, Any], ...]
    unpacked_bytes: int
    config_text: str
    config: ModelConfig
    inspection: Mapping[str, Any]
    remarks: tuple[str, ...]


def check(
    archive: Path, staging: Path, *, model: str, number: int, limits: Limits, on_progress: Callable[[], None]
) -> Checked:
    """Unpack into `staging` and check; a Refused or ConfigUnparsable says what is wrong and where.

    `on_progress` is called every few MiB; what it raises ends the check.
    """
    tree = staging / "unpacked"
    tree.mkdir()
    unpacked = unpack(archive, tree, limits=limits, on_progress=on_progress)
    layout = find_layout([file.path for file in unpacked.files], unpacked.directories)
    text = _config_text(tree.joinpath(*layout.top, CONFIG_FILE))
    config = _parse(text)
    _require_name(config, model)
    _require_content(config, layout, unpacked)
    directory, files = _arrange(tree, staging / "sealed", layout), tuple(_manifest(layout, unpacked.files))
    inspection, told = _hold_against_rules(model, config, files, directory)
    return Checked(
        directory=directory,
        files=files,
        unpacked_bytes=sum(file.size_bytes for file in unpacked.files),
        config_text=text,
        config=config,
        inspection=inspection,
        remarks=(*_remarks(layout, unpacked, model=model, number=number), *told),
    )


def recheck(
    sealed: Path, *, model: str, files: Sequence[dict[str, Any]], unpacked_bytes: int, remarks: Sequence[str]
) -> Checked:
    """Bytes that passed before, for another version: what depends on the model is checked again."""
    text = _config_text(sealed / CONFIG_FILE)
    config = _parse(text)
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


def unpack(archive: Path, tree: Path, *, limits: Limits, on_progress: Callable[[], None]) -> Unpacked:
    """Bring every entry that a server may need into `tree`."""
    census = Census(max_entries=limits.entries)
    files: list[UnpackedFile] = []
    directories: set[Parts] = set()
    dropped: list[str] = []
    left = limits.unpacked_bytes
    found = archives.entries(archive, max_entries=limits.entries, max_bytes=limits.unpacked_bytes)
    with closing(found):
        for entry in found:
            census.count()
            parts = parts_of(entry.name)
            _require_plain(entry)
            if is_junk(parts):
                dropped.append("/".join(parts))
            elif entry.kind == EntryKind.DIRECTORY or not parts:
                census.add_directory(parts)
                directories.add(parts)
                tree.joinpath(*parts).mkdir(parents=True, exist_ok=True)
            else:
                census.add_file(parts)
                files.append(_write(entry, parts, tree, left=left, limits=limits, on_progress=on_progress))
                left -= files[-1].size_bytes
    return Unpacked(tuple(files), frozenset(directories - {()}), tuple(dropped))


def _require_plain(entry: archives.Entry) -> None:
    if entry.kind == EntryKind.LINK:
        raise refusals.LinkInArchive(entry.name)
    if entry.kind == EntryKind.DEVICE:
        raise refusals.DeviceInArchive(entry.name)


def _write(
    entry: archives.Entry, parts: Parts, tree: Path, *, left: int, limits: Limits, on_progress: Callable[[], None]
) -> UnpackedFile:
    target = tree.joinpath(*parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with closing(entry.open()) as source, target.open("xb") as writer:
        while chunk := source.read(CHUNK_BYTES):
            size += len(chunk)
            if size > left:
                raise refusals.UnpackedTooLarge(
                    f"more than {limits.unpacked_bytes:,} bytes come out of the archive", limit=limits.unpacked_bytes
                )
            digest.update(chunk)
            writer.write(chunk)
            on_progress()
    return UnpackedFile(parts, size, digest.hexdigest())


def _config_text(path: Path) -> str:
    if path.stat().st_size > MAX_CONFIG_BYTES:
        raise refusals.ConfigTooLarge(CONFIG_FILE, f"it has more than {MAX_CONFIG_BYTES:,} bytes")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refusals.ConfigNotUtf8(CONFIG_FILE) from error
    if "\x00" in text:
        raise refusals.ConfigNotUtf8(CONFIG_FILE, "it holds a NUL character")
    return text


def _parse(text: str) -> ModelConfig:
    if placeholder := find_placeholder(text):
        _refuse_template(placeholder)
    try:
        config = backends.get("triton").CONFIG.parse(text)
    except ConfigUnparsable as error:
        if word := find_word(text, int(error.facts.get("line") or 0)):
            _refuse_template(word)
        raise
    if _has_nul(config.document):
        raise refusals.ConfigNotUtf8(CONFIG_FILE, "one of its strings holds a NUL character")
    return config


def _has_nul(value: Any) -> bool:
    """Whether a string anywhere in it holds what no database column may."""
    if isinstance(value, str):
        return "\x00" in value
    if isinstance(value, Mapping):
        return any(_has_nul(key) or _has_nul(part) for key, part in value.items())
    return isinstance(value, list | tuple) and any(_has_nul(part) for part in value)


def _refuse_template(placeholder: Placeholder) -> NoReturn:
    shown = printable(placeholder.text, limit=80)
    raise refusals.TemplateUnfilled(
        CONFIG_FILE, f"line {placeholder.line} still holds the placeholder {shown!r}", line=placeholder.line
    )


def _require_name(config: ModelConfig, model: str) -> None:
    if config.name and config.name != model:
        raise refusals.NameMismatch(
            CONFIG_FILE,
            f"it names the model {printable(config.name, limit=140)!r}, this is {model!r}",
            hint=f'Write name: "{model}" into it, or leave the name out.',
        )


def _require_content(config: ModelConfig, layout: Layout, unpacked: Unpacked) -> None:
    """A server hangs for ever on a version without the file its backend loads."""
    inside = {file.path[len(layout.top) + 1 :] for file in unpacked.files if _folder(layout, file) == VERSION_FOLDER}
    if not inside and not config.is_ensemble:
        raise refusals.VersionEmpty(f"{layout.version}/")
    needed = backends.get("triton").CONFIG.required_file(config.document)
    if needed is None:
        return
    wanted = tuple(needed.split("/"))
    if not any(path[: len(wanted)] == wanted for path in inside):
        raise refusals.ModelFileMissing(
            f"{layout.version}/{needed}",
            f"the backend {config.backend or config.platform!r} loads this file, and it is not in the archive",
            hint=f"Put {needed} into the version directory, or name another file as default_model_filename.",
        )


def _folder(layout: Layout, file: UnpackedFile) -> str:
    name = file.path[len(layout.top)]
    return VERSION_FOLDER if name == layout.version and len(file.path) > len(layout.top) + 1 else SHARED_FOLDER


def _arrange(tree: Path, sealed: Path, layout: Layout) -> Path:
    top = tree.joinpath(*layout.top)
    (sealed / SHARED_FOLDER).mkdir(parents=True)
    (top / CONFIG_FILE).rename(sealed / CONFIG_FILE)
    (top / layout.version).rename(sealed / VERSION_FOLDER)
    for name in layout.shared:
        (top / name).rename(sealed / SHARED_FOLDER / name)
    return sealed


def _manifest(layout: Layout, files: Sequence[UnpackedFile]) -> list[dict[str, Any]]:
    lines = []
    for file in files:
        inner = file.path[len(layout.top) :]
        if inner == (CONFIG_FILE,):
            path = CONFIG_FILE
        elif _folder(layout, file) == VERSION_FOLDER:
            path = "/".join((VERSION_FOLDER, *inner[1:]))
        else:
            path = "/".join((SHARED_FOLDER, *inner))
        lines.append({"path": path, "size_bytes": file.size_bytes, "sha256": file.sha256})
    return sorted(lines, key=lambda line: str(line["path"]))


def _remarks(layout: Layout, unpacked: Unpacked, *, model: str, number: int) -> list[str]:
    remarks = []
    if unpacked.dropped:
        shown = ", ".join(printable(name, limit=80) for name in unpacked.dropped[:NAMED])
        more = ", ..." if len(unpacked.dropped) > NAMED else ""
        remarks.append(f"Left out, as no server needs them: {shown}{more} ({len(unpacked.dropped)} in all).")
    if layout.shared:
        shown = ", ".join(printable(name, limit=80) for name in layout.shared[:NAMED])
        more = ", ..." if len(layout.shared) > NAMED else ""
        remarks.append(f"Shared by all versions of the model, as it lies beside the version: {shown}{more}.")
    if layout.folder and layout.folder != model:
        remarks.append(f"The archive's directory is called {printable(layout.folder, limit=80)!r}, not {model!r}.")
    if layout.version != str(number):
        remarks.append(f"The archive's version directory is {layout.version}; here it is version {number}.")
    return remarks
