"""Moments that matter to whoever reads a chart, as vertical lines that say who and why. Pure."""

from collections.abc import Sequence
from datetime import datetime
from html import escape
from typing import Any, Protocol

from apps.metrics.palettes import LIGHT

MARK_HEIGHT = 0.97
SYMBOLS = {
    "began": "triangle-right",
    "succeeded": "circle",
    "failed": "x",
    "rolled_back": "triangle-left",
    "rollback": "triangle-left-open",
    "restart": "star",
    "drift": "diamond",
    "in_line": "diamond-open",
}


class Mark(Protocol):
    """A moment, drawn as a vertical line; `url` is where a click on it leads, empty for nowhere."""

    @property
    def at(self) -> datetime: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def label(self) -> str: ...  # noqa: D102
    @property
    def url(self) -> str: ...  # noqa: D102


def mark_lines(marks: Sequence[Mark]) -> list[dict[str, Any]]:
    """The vertical lines."""
    return [_line(mark) for mark in marks]


def mark_points(marks: Sequence[Mark], top: float) -> list[dict[str, Any]]:
    """What a mark says when pointed at, and where a click on it leads."""
    if not marks:
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "marks",
            "x": [round(mark.at.timestamp() * 1000) for mark in marks],
            "y": [top * MARK_HEIGHT] * len(marks),
            "text": [escape(mark.label, quote=False) for mark in marks],
            "customdata": [mark.url for mark in marks],
            "hovertemplate": "%{text}<extra></extra>",
            "marker": {
                "symbol": [SYMBOLS[mark.kind] for mark in marks],
                "color": [LIGHT[mark.kind] for mark in marks],
                "size": 9,
            },
            "cliponaxis": False,
            "meta": {"role": "marks", "kinds": [mark.kind for mark in marks]},
        }
    ]


def _line(mark: Mark) -> dict[str, Any]:
    at_ms = round(mark.at.timestamp() * 1000)
    return {
        "type": "line",
        "name": mark.kind,
        "x0": at_ms,
        "x1": at_ms,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": LIGHT[mark.kind], "width": 1, "dash": "solid" if mark.kind == "began" else "dot"},
    }
