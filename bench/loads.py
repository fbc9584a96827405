"""How long a Triton's own loads took, by its own log."""

import re
from datetime import datetime
from pathlib import Path

_LINE = re.compile(r'^I(?P<at>\d{4} \d\d:\d\d:\d\d\.\d+) .*"(?P<said>loading: |successfully loaded \')(?P<rest>[^"]*)"')


def log_length(log: Path) -> int:
    """Where the log ends now, in bytes."""
    return log.stat().st_size


def loads_s(log: Path, *, after_byte: int) -> dict[str, list[float]]:
    """Seconds of each load that began and ended after that place, by the model's name."""
    with log.open("rb") as lines:
        lines.seek(after_byte)
        return loads_in(lines.read().decode(errors="replace"))


def loads_in(text: str) -> dict[str, list[float]]:
    """As `loads_s`, of a log's text: from `loading: NAME:VERSION` to `successfully loaded 'NAME'`."""
    begun: dict[str, datetime] = {}
    found: dict[str, list[float]] = {}
    for match in filter(None, map(_LINE.match, text.splitlines())):
        at = datetime.strptime(f"2000{match['at']}", "%Y%m%d %H:%M:%S.%f")  # noqa: DTZ007 - only differences count
        if match["said"] == "loading: ":
            begun.setdefault(match["rest"].rpartition(":")[0], at)
            continue
        name = match["rest"].rstrip("'")
        if name in begun:
            found.setdefault(name, []).append((at - begun.pop(name)).total_seconds())
    return found
