"""Two versions side by side, as people see it."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from apps.common.text import SHOWN_CHARS, as_size, printable
from apps.console.shown.state import Chip

if TYPE_CHECKING:
    from apps.registry.comparison import Comparison, FileDifference
    from apps.serving.configuration import ConfigDifference

ROWS = 500
VALUE_CHARS = 400
EFFECTS = {
    "interface": Chip("! interface", "bad", "Clients notice: what they send or get changes."),
    "restart": Chip("restart", "wait", "The two cannot stand side by side: loading one restarts the other."),
    "no_restart": Chip("instances", "ok", "Instances only: no loaded version restarts."),
    "not_used": Chip("not used", "mute", "Conch decides this itself; the file's word is not used."),
}


@dataclass(frozen=True, slots=True)
class ConfigRow:
    """One field that differs, its values as JSON."""

    path: str
    before: str
    after: str
    chip: Chip


@dataclass(frozen=True, slots=True)
class FileRow:
    """One file that differs."""

    path: str
    before: str
    after: str
    chip: Chip


@dataclass(frozen=True, slots=True)
class ComparisonPage:
    """All that differs, the most telling first."""

    config: tuple[ConfigRow, ...]
    files: tuple[FileRow, ...]
    more: int
    text: str
    is_same: bool


def comparison_page(comparison: "Comparison") -> ComparisonPage:
    """What differs, cut where it would fill the page."""
    order = list(EFFECTS)
    config = sorted(comparison.config, key=lambda one: (order.index(one.effect), one.path))
    cut = max(0, len(config) - ROWS) + max(0, len(comparison.files) - ROWS)
    return ComparisonPage(
        config=tuple(_config_row(one) for one in config[:ROWS]),
        files=tuple(_file_row(one) for one in comparison.files[:ROWS]),
        more=cut,
        text=printable("\n".join(comparison.text)),
        is_same=comparison.is_same,
    )


def _config_row(one: "ConfigDifference") -> ConfigRow:
    return ConfigRow(
        printable(one.path, limit=VALUE_CHARS), _value(one.before), _value(one.after), EFFECTS[str(one.effect)]
    )


def _value(value: Any) -> str:
    return "" if value is None else printable(json.dumps(value, ensure_ascii=False), limit=VALUE_CHARS)


def _file_row(one: "FileDifference") -> FileRow:
    chip = Chip("changed", "wait")
    if one.before_bytes is None:
        chip = Chip("added", "ok")
    elif one.after_bytes is None:
        chip = Chip("removed", "bad")
    return FileRow(printable(one.path, limit=SHOWN_CHARS), _bytes(one.before_bytes), _bytes(one.after_bytes), chip)


def _bytes(size: int | None) -> str:
    return "" if size is None else as_size(size)
