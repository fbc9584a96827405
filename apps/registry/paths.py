"""Names out of an archive: each checked, and all of them together. Pure."""

import re
import unicodedata

from apps.registry import refusals

Parts = tuple[str, ...]

MAX_NAME_BYTES, MAX_PATH_BYTES, MAX_DEPTH = 255, 1_000, 32
JUNK = frozenset({"__MACOSX", ".DS_Store", "__pycache__", "Thumbs.db", "desktop.ini", ".git", ".ipynb_checkpoints"})
_DRIVE = re.compile(r"[A-Za-z]:")
# Control, format (invisible, right-to-left), surrogate, line and paragraph separator.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def parts_of(name: str) -> Parts:
    """The path's parts, empty for the archive's own top; the refusal that names the entry otherwise."""
    if _is_surrogate(name):
        raise refusals.PathNotUtf8(name.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    if any(unicodedata.category(character) in _UNSEEN for character in name):
        raise refusals.PathControlCharacters(name)
    if "\\" in name:
        raise refusals.PathBackslash(name)
    if name.startswith("/") or _DRIVE.match(name):
        raise refusals.PathAbsolute(name)
    parts = tuple(part for part in name.split("/") if part not in {"", "."})
    if ".." in parts:
        raise refusals.PathLeavesArchive(name)
    _require_short(name, parts)
    return parts


def _is_surrogate(name: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in name)


def _require_short(name: str, parts: Parts) -> None:
    is_long = any(len(part.encode()) > MAX_NAME_BYTES for part in parts)
    if is_long or len("/".join(parts).encode()) > MAX_PATH_BYTES or len(parts) > MAX_DEPTH:
        raise refusals.PathTooLong(name)


def is_junk(parts: Parts) -> bool:
    """What packers and interpreters leave, and no server needs."""
    return any(part in JUNK or part.startswith("._") for part in parts)


class Census:
    """Every path of one archive so far: each once, and one kind each."""

    def __init__(self, *, max_entries: int) -> None:
        self._max_entries = max_entries
        self._count = 0
        self._files: set[Parts] = set()
        self._directories: set[Parts] = set()
        self._spelled: dict[Parts, Parts] = {}

    def count(self) -> None:
        """Another entry; TooManyEntries above the limit."""
        self._count += 1
        if self._count > self._max_entries:
            raise refusals.TooManyEntries(
                f"the archive has more than {self._max_entries:,} entries", limit=self._max_entries
            )

    def add_directory(self, parts: Parts) -> None:
        """A directory and those above it; the same again is fine."""
        for depth in range(1, len(parts) + 1):
            upper = parts[:depth]
            if upper in self._files:
                raise refusals.FileAndDirectory("/".join(upper))
            if upper not in self._directories:
                self._spell(upper)
                self._directories.add(upper)

    def add_file(self, parts: Parts) -> None:
        """A file, whose path nothing else has."""
        self.add_directory(parts[:-1])
        if parts in self._directories:
            raise refusals.FileAndDirectory("/".join(parts))
        if parts in self._files:
            raise refusals.PathTwice("/".join(parts))
        self._spell(parts)
        self._files.add(parts)

    def _spell(self, parts: Parts) -> None:
        key = tuple(unicodedata.normalize("NFC", part).casefold() for part in parts)
        other = self._spelled.setdefault(key, parts)
        if other != parts:
            raise refusals.PathsCollide(
                "/".join(parts), f"its name and {'/'.join(other)!r} {_difference(parts, other)}"
            )


def _difference(parts: Parts, other: Parts) -> str:
    """Of two paths that are one on some file system."""
    composed = [unicodedata.normalize("NFC", "/".join(one)) for one in (parts, other)]
    return (
        "look the same, their accents are written in two ways" if composed[0] == composed[1] else "differ in case only"
    )
