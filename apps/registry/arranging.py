"""Where each file of an upload goes in its artifact, and what is remarked on the way. Pure."""

from collections.abc import Collection, Iterator, Sequence

from apps.common.text import printable
from apps.registry.bare import Bare
from apps.registry.layout import CONFIG_FILE, Layout
from apps.registry.paths import Parts

VERSION_FOLDER, SHARED_FOLDER = "version", "shared"
# How many names a remark tells.
NAMED = 5


def place_of(layout: Layout, path: Parts) -> str | None:
    """The file's path in the artifact; None for what belongs to a version that was not asked for."""
    inner = path[len(layout.top) :]
    if inner == (CONFIG_FILE,):
        return CONFIG_FILE
    if layout.bare and not layout.version:
        return _in_version(layout.bare, inner)
    if inner[0] == layout.version and len(inner) > 1:
        return _in_version(layout.bare, inner[1:])
    return None if inner[0] in layout.others else "/".join((SHARED_FOLDER, *inner))


def _in_version(bare: Bare | None, path: Parts) -> str:
    if bare and path == (bare.called,):
        path = (bare.name,)
    return "/".join((VERSION_FOLDER, *([bare.inside] if bare and bare.inside else []), *path))


def remarks(layout: Layout, dropped: Sequence[str], *, model: str, number: int) -> list[str]:
    """What was left out, shared or called otherwise, in words."""
    told = []
    if dropped:
        told.append(f"Left out, as no server needs them: {_some(dropped)} ({len(dropped)} in all).")
    if layout.wrappers:
        told.append(f"Left out, as they only wrap the model: the directories {_shown('/'.join(layout.wrappers))}/.")
    if layout.others:
        told.append(f"Left out, as they were not asked for: the versions {_some(layout.others)}.")
    if layout.shared:
        told.append(f"Shared by all versions of the model, as it lies beside the version: {_some(layout.shared)}.")
    if layout.folder and layout.folder != model and not (layout.bare and not layout.has_config):
        told.append(f"The archive's directory is called {_shown(layout.folder)!r}, not {model!r}.")
    if layout.version and layout.version != str(number):
        told.append(f"The archive's version directory is {layout.version}; here it is version {number}.")
    return [*told, *(_of_bare(layout.bare, has_config=layout.has_config) if layout.bare else ())]


def _of_bare(bare: Bare, *, has_config: bool) -> Iterator[str]:
    if bare.called:
        yield f"{_shown(bare.called)} is called {bare.name} here, as its backend looks for it."
    if bare.beside:
        yield f"{bare.name} is taken for the model; beside it lie {_some(bare.beside)}."
    if has_config:
        yield f"There is no version directory: all that lies beside {CONFIG_FILE} became the version's."


def _some(names: Collection[str]) -> str:
    shown = ", ".join(_shown(name) for name in list(names)[:NAMED])
    return f"{shown}, ..." if len(names) > NAMED else shown


def _shown(name: str) -> str:
    return printable(name, limit=80)
