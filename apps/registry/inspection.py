"""A version as the rules of preflight see it: its configuration, its files, what its sources say. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from apps.serving import backends
from apps.serving.preflight import LiveMember, PythonSource, ServerFacts, SharedElsewhere, Subject

Manifest = Sequence[Mapping[str, Any]]


def inspect(document: Mapping[str, Any], files: Manifest, read: Callable[[str], bytes]) -> dict[str, Any]:
    """What is read from the files themselves, as the version's row keeps it; `read` takes a path of the manifest."""
    config_format = backends.get("triton").CONFIG
    sizes = sizes_of(files)
    path = f"version/{config_format.required_file(document)}"
    is_python = config_format.backend_of(document, sizes) == "python"
    if not is_python or path not in sizes:
        return {}
    return {"source": asdict(config_format.read_source(read(path)))}


def subject_of(
    model: str,
    document: Mapping[str, Any],
    files: Manifest | None,
    inspection: Mapping[str, Any],
    *,
    members: Mapping[str, LiveMember] | None = None,
    shared: tuple[SharedElsewhere, ...] | None = None,
    server: ServerFacts | None = None,
) -> Subject:
    """What the rules look at."""
    return Subject(
        model=model,
        document=document,
        files=None if files is None else sizes_of(files),
        source=_source(inspection.get("source")),
        members=members,
        shared=shared,
        server=server,
    )


def sizes_of(files: Manifest) -> dict[str, int]:
    """Bytes by path."""
    return {str(line["path"]): int(line["size_bytes"]) for line in files}


def shared_otherwise(files: Manifest, placed: Mapping[int, Manifest]) -> tuple[SharedElsewhere, ...]:
    """The shared files of which a placed version (by number) has other content."""
    own = _shared(files)
    return tuple(
        SharedElsewhere(path.removeprefix("shared/"), number)
        for number, others in placed.items()
        for path, digest in _shared(others).items()
        if own.get(path, digest) != digest
    )


def _shared(files: Manifest) -> dict[str, str]:
    return {str(line["path"]): str(line["sha256"]) for line in files if str(line["path"]).startswith("shared/")}


def _source(kept: Mapping[str, Any] | None) -> PythonSource | None:
    if not kept:
        return None
    methods = kept.get("methods")
    return PythonSource(
        problem=str(kept.get("problem", "")),
        has_class=kept.get("has_class"),
        methods=None if methods is None else tuple(methods),
    )
