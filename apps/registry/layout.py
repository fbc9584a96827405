"""Finding the model in what was unpacked: config.pbtxt, one version directory, shared files; or bare files. Pure."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from apps.common.names import MAX_VERSION
from apps.registry import refusals
from apps.registry.bare import Bare, find_bare, find_by_ending, unwrapped
from apps.registry.paths import Parts

CONFIG_FILE = "config.pbtxt"
# How many directories packers and download services wrap around a model.
MOST_WRAPPERS = 4
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.zst", ".gz", ".zst", ".7z", ".rar")
_EXACT = re.compile(r"[1-9][0-9]{0,18}")
# A server reads signs, blanks and leading digits as a number; 'v1' is somebody's idea of one.
_NUMBER = re.compile(r"[+-]?\d+")
_LIKE = re.compile(r"[\s+\-._]*[vV]?[\s+\-._]*\d")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where in the archive the model is: `top` holds config.pbtxt, the version directory, `shared` names.

    `bare` is set where there is no version directory: then all that lies in `top` beside config.pbtxt is the version.
    `others` are versions that were not asked for.
    """

    top: Parts
    version: str
    shared: tuple[str, ...]
    has_config: bool = True
    bare: Bare | None = None
    others: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """The name of the model's directory in the archive, empty when there is none."""
        return self.top[-1] if self.top else ""

    @property
    def wrappers(self) -> Parts:
        """The directories around it."""
        return self.top[:-1]


def find_layout(files: Collection[Parts], directories: Collection[Parts], *, version: str = "") -> Layout:
    """The one model and version in it (`version`, where there are several), or the refusal that says what is amiss."""
    tops = sorted({path[:-1] for path in files if path[-1] == CONFIG_FILE}, key=lambda top: (len(top), top))
    if not tops:
        return _bare(files, directories, version)
    top = _top(tops, files)
    names, folders = _names(top, files, directories)
    _refuse_look_alikes(folders, names)
    found = sorted((name for name in folders if _is_version(name)), key=int)
    if not found and (bare := find_bare(names)):
        return Layout(top, "", (), bare=bare)
    chosen = _chosen(found, names, version)
    others = tuple(name for name in found if name != chosen)
    shared = tuple(name for name in names if name not in {*found, CONFIG_FILE})
    return Layout(top, chosen, shared, others=others)


def _names(top: Parts, files: Collection[Parts], directories: Collection[Parts]) -> tuple[list[str], set[str]]:
    everything = {*files, *directories}
    names = sorted({path[len(top)] for path in everything if path[: len(top)] == top and len(path) > len(top)})
    return names, {name for name in names if (*top, name) not in files}


def _bare(files: Collection[Parts], directories: Collection[Parts], version: str) -> Layout:
    """Files without a configuration: one version's directory, several of them, or what a trainer wrote."""
    wrapped = unwrapped(files)
    top = next((wrapped[:depth] for depth, name in enumerate(wrapped) if _is_version(name)), wrapped)
    names, folders = _names(top, files, directories)
    found = sorted((name for name in folders if _is_version(name)), key=int)
    if found:
        _refuse_look_alikes(folders, names)
        chosen = _chosen(found, names, version)
        inner, _ = _names((*top, chosen), files, directories)
        if bare := find_bare(inner) or find_by_ending(inner):
            others = tuple(name for name in found if name != chosen)
            return Layout(top, chosen, (), has_config=False, bare=bare, others=others)
    elif bare := find_bare(names) or find_by_ending(names):
        return Layout(top, "", (), has_config=False, bare=bare)
    nested = [name for name in names if name.lower().endswith(ARCHIVES)]
    if nested:
        raise refusals.NestedArchive("/".join((*top, nested[0])))
    raise refusals.ConfigMissing(f"there is no {CONFIG_FILE} in it, and no file that Conch knows a backend for")


def _top(tops: list[Parts], files: Collection[Parts]) -> Parts:
    first = tops[0]
    if len(first) > 1 + MOST_WRAPPERS:
        most = 1 + MOST_WRAPPERS
        raise refusals.ModelTooDeep(
            "/".join((*first, CONFIG_FILE)), f"it lies {len(first)} directories deep, {most} at most are taken"
        )
    beside = sorted(path for path in files if path[: len(first)] != first)
    others = [top for top in tops[1:] if top[: len(first)] != first]
    if others:
        raise refusals.SeveralModels(
            f"the archive holds several models: {'/'.join(first)!r} and {'/'.join(others[0])!r}"
        )
    if beside:
        raise refusals.StrayEntry("/".join(beside[0]))
    return first


def _refuse_look_alikes(folders: Collection[str], names: Collection[str]) -> None:
    for name in sorted(folders):
        if _LIKE.match(name) and not _is_version(name):
            raise refusals.VersionLookAlike(name)
    for name in sorted(set(names) - set(folders)):
        if _NUMBER.fullmatch(name):
            raise refusals.VersionLookAlike(name, "a file of this name would stand where a version's directory belongs")


def _chosen(found: list[str], names: Collection[str], version: str) -> str:
    if not found:
        beside = ", ".join(repr(name[:40]) for name in sorted(names) if name != CONFIG_FILE)
        raise refusals.VersionDirectoryMissing(
            f"there is no version directory beside {CONFIG_FILE}, only {beside or 'nothing'}"[:500]
        )
    if version and version not in found:
        raise refusals.VersionDirectoryMissing(
            f"there is no version directory {version[:40]!r}, only {', '.join(found[:10])}", versions=found[:50]
        )
    if not version and len(found) > 1:
        raise refusals.SeveralVersions(found)
    return version or found[0]


def _is_version(name: str) -> bool:
    return bool(_EXACT.fullmatch(name)) and int(name) <= MAX_VERSION
