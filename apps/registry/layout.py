"""Finding the model directory in what was unpacked: config.pbtxt, one version directory, shared files. Pure."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from apps.common.names import MAX_VERSION
from apps.registry import refusals
from apps.registry.paths import Parts

CONFIG_FILE = "config.pbtxt"
_EXACT = re.compile(r"[1-9][0-9]{0,18}")
# A server reads signs, blanks and leading digits as a number; 'v1' is somebody's idea of one.
_NUMBER = re.compile(r"[+-]?\d+")
_LIKE = re.compile(r"[\s+\-._]*[vV]?[\s+\-._]*\d")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where in the archive the model is: `top` holds config.pbtxt, the version directory, `shared` names."""

    top: Parts
    version: str
    shared: tuple[str, ...]

    @property
    def folder(self) -> str:
        """The name of the archive's one directory, empty when there is none."""
        return self.top[0] if self.top else ""


def find_layout(files: Collection[Parts], directories: Collection[Parts]) -> Layout:
    """The one model and version in it, or the refusal that says what is in the way."""
    top = _top(files)
    everything = {*files, *directories}
    names = sorted({path[len(top)] for path in everything if path[: len(top)] == top and len(path) > len(top)})
    folders = {name for name in names if (*top, name) not in files}
    version = _version(folders, names)
    shared = tuple(name for name in names if name not in {version, CONFIG_FILE})
    return Layout(top=top, version=version, shared=shared)


def _top(files: Collection[Parts]) -> Parts:
    tops = sorted({path[:-1] for path in files if path[-1] == CONFIG_FILE}, key=lambda top: (len(top), top))
    if not tops:
        raise refusals.ConfigMissing(f"there is no {CONFIG_FILE} in the archive")
    first = tops[0]
    if len(first) > 1:
        raise refusals.ModelTooDeep("/".join((*first, CONFIG_FILE)), f"it lies {len(first)} directories deep, not 1")
    beside = sorted(path for path in files if path[: len(first)] != first)
    others = [top for top in tops[1:] if top[: len(first)] != first]
    if others:
        raise refusals.SeveralModels(f"the archive holds several models: {first[0]!r} and {'/'.join(others[0])!r}")
    if beside:
        raise refusals.StrayEntry("/".join(beside[0]))
    return first


def _version(folders: Collection[str], names: Collection[str]) -> str:
    for name in sorted(folders):
        if _LIKE.match(name) and not _is_version(name):
            raise refusals.VersionLookAlike(name)
    for name in sorted(set(names) - set(folders)):
        if _NUMBER.fullmatch(name):
            raise refusals.VersionLookAlike(name, "a file of this name would stand where a version's directory belongs")
    found = sorted((name for name in folders if _is_version(name)), key=int)
    if not found:
        beside = ", ".join(repr(name[:40]) for name in sorted(names) if name != CONFIG_FILE)
        raise refusals.VersionDirectoryMissing(
            f"there is no version directory beside {CONFIG_FILE}, only {beside or 'nothing'}"[:500]
        )
    if len(found) > 1:
        raise refusals.SeveralVersions(f"the archive holds {len(found)} versions: {', '.join(found[:10])}")
    return found[0]


def _is_version(name: str) -> bool:
    return bool(_EXACT.fullmatch(name)) and int(name) <= MAX_VERSION
