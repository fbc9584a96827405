"""A chart as comma-separated values, one row for each moment. Pure."""

import csv
import io
from collections.abc import Sequence
from datetime import UTC, datetime

from apps.metrics.figures import Line
from apps.metrics.windows import Window

# What a spreadsheet would take for a formula.
_ACTIVE = ("=", "+", "-", "@", "\t", "\r")


def as_csv(lines: Sequence[Line], window: Window, *, unit: str) -> str:
    """Times in UTC, one column for each line; a gap is an empty cell."""
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\r\n")
    rows.writerow(["time", *(_inert(f"{line.name} ({unit})") for line in lines)])
    for index in range(len(window)):
        moment = datetime.fromtimestamp(window.start_s + index * window.step_s, tz=UTC)
        values = (line.values[index] for line in lines)
        rows.writerow([moment.isoformat(), *("" if value is None else f"{value:.6g}" for value in values)])
    return written.getvalue()


def _inert(text: str) -> str:
    return f"'{text}" if text.startswith(_ACTIVE) else text
