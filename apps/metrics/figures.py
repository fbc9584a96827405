"""Series to Plotly figures, as plain dicts. Pure.

Building the dict directly costs a twentieth of plotly.py's classes; a test holds every one against plotly.py's schema.
Times are Unix milliseconds in UTC and colours come by slot with both palettes: the page moves the times to the
reader's zone and picks the palette.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any, Protocol

from apps.metrics.catalogue import Chart
from apps.metrics.labels import Label, place, shown
from apps.metrics.palettes import DARK, LIGHT
from apps.metrics.windows import Window

HEIGHT_PX = 228
MARGIN_PX = {"l": 56, "t": 12, "b": 36}
LABEL_CHAR_PX = 6.6
SLO_WITHIN = 4.0
DOT_PX = 5
MARK_HEIGHT = 0.97
_SYMBOLS = {
    "began": "triangle-right",
    "succeeded": "circle",
    "failed": "x",
    "rolled_back": "triangle-left",
    "rollback": "triangle-left-open",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart: values in the chart's unit at each point of the window, None where there is a gap."""

    name: str
    slot: int
    values: tuple[float | None, ...]
    dash: str = "solid"

    @property
    def last(self) -> tuple[int, float] | None:
        """Where the line ends, and its value there."""
        ends = ((index, value) for index, value in reversed(list(enumerate(self.values))) if value is not None)
        return next(ends, None)


class Mark(Protocol):
    """A moment in a rollout's life, drawn as a vertical line."""

    @property
    def at(self) -> datetime: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def label(self) -> str: ...  # noqa: D102
    @property
    def rollout_id(self) -> int: ...  # noqa: D102


def figure(
    chart: Chart, lines: Sequence[Line], window: Window, *, marks: Iterable[Mark] = (), slo: float | None = None
) -> dict[str, Any]:
    """The chart as Plotly draws it; `slo` in the chart's unit."""
    top = _top(lines, slo)
    seen = [mark for mark in marks if window.start_s <= mark.at.timestamp() <= window.end_s]
    labels = place(_ends(lines), top=top, height_px=HEIGHT_PX - MARGIN_PX["t"] - MARGIN_PX["b"])
    return {
        "data": [*(_trace(line, chart, window) for line in lines), *_mark_points(seen, top)],
        "layout": {
            **_layout(chart, window, top, longest=max((len(label.text) for label in labels), default=0)),
            "shapes": [*(_mark_line(mark) for mark in seen), *_slo_line(slo)],
            "annotations": [*(_annotation(label, window) for label in labels), *_slo_label(chart, slo, top)],
        },
    }


def _top(lines: Sequence[Line], slo: float | None) -> float:
    """Where the axis ends: room above the highest value, and above the SLO unless that would flatten everything."""
    highest = max((value for line in lines for value in line.values if value is not None), default=0.0)
    if slo is not None and (slo <= SLO_WITHIN * highest or not highest):
        highest = max(highest, slo)
    return highest * 1.12 or 1.0


def _trace(line: Line, chart: Chart, window: Window) -> dict[str, Any]:
    colour, lonely = LIGHT[str(line.slot)], _lonely(line.values)
    return {
        "type": "scatter",
        "mode": "lines+markers" if any(lonely) else "lines",
        "name": escape(line.name, quote=False),
        "x0": window.start_s * 1000,
        "dx": window.step_s * 1000,
        "y": [None if value is None else float(f"{value:.6g}") for value in line.values],
        "connectgaps": False,
        "line": {"color": colour, "width": 1.75, "dash": line.dash},
        "marker": {"color": colour, "size": lonely if any(lonely) else DOT_PX},
        "hovertemplate": f"%{{y:,.4~r}} {escape(chart.unit, quote=False)}",
        "meta": {"role": str(line.slot)},
    }


def _lonely(values: tuple[float | None, ...]) -> list[int]:
    """Sizes of points: one between two gaps is a dot, or it would not be seen at all."""
    around = (None, *values, None)
    ends = zip(around, values, around[2:], strict=False)
    return [DOT_PX if value is not None and before is None and after is None else 0 for before, value, after in ends]


def _ends(lines: Sequence[Line]) -> list[Label]:
    return [Label(line.slot, *last, f"{line.name} {shown(last[1])}") for line in lines if (last := line.last)]


def _annotation(label: Label, window: Window) -> dict[str, Any]:
    """The line's name and last value, at its end."""
    return {
        "name": str(label.slot),
        "x": (window.start_s + label.index * window.step_s) * 1000,
        "y": label.value,
        "xshift": 4,
        "yshift": label.shift_px,
        "text": escape(label.text, quote=False),
        "showarrow": False,
        "xanchor": "left",
        "yanchor": "middle",
        "font": {"color": LIGHT[str(label.slot)], "size": 11},
    }


def _slo_line(slo: float | None) -> list[dict[str, Any]]:
    if slo is None:
        return []
    line = {"color": LIGHT["slo"], "width": 1, "dash": "dash"}
    return [{"type": "line", "name": "slo", "xref": "paper", "x0": 0, "x1": 1, "y0": slo, "y1": slo, "line": line}]


def _slo_label(chart: Chart, slo: float | None, top: float) -> list[dict[str, Any]]:
    if slo is None:
        return []
    beyond = " (above)" if slo > top else ""
    return [
        {
            "name": "slo",
            "xref": "paper",
            "x": 0,
            "y": min(slo, top),
            "yshift": -7 if beyond else 7,
            "text": f"SLO {shown(slo)} {chart.unit}{beyond}",
            "showarrow": False,
            "xanchor": "left",
            "font": {"color": LIGHT["slo"], "size": 11},
        }
    ]


def _mark_line(mark: Mark) -> dict[str, Any]:
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


def _mark_points(marks: Sequence[Mark], top: float) -> list[dict[str, Any]]:
    """What a mark says when pointed at, and where a click on it leads."""
    if not marks:
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "rollouts",
            "x": [round(mark.at.timestamp() * 1000) for mark in marks],
            "y": [top * MARK_HEIGHT] * len(marks),
            "text": [escape(mark.label, quote=False) for mark in marks],
            "customdata": [mark.rollout_id for mark in marks],
            "hovertemplate": "%{text}<extra></extra>",
            "marker": {
                "symbol": [_SYMBOLS[mark.kind] for mark in marks],
                "color": [LIGHT[mark.kind] for mark in marks],
                "size": 9,
            },
            "cliponaxis": False,
            "meta": {"role": "marks", "kinds": [mark.kind for mark in marks]},
        }
    ]


def _layout(chart: Chart, window: Window, top: float, *, longest: int) -> dict[str, Any]:
    axis = {"gridcolor": LIGHT["grid"], "linecolor": LIGHT["grid"], "zeroline": False}
    return {
        "height": HEIGHT_PX,
        "margin": {**MARGIN_PX, "r": round(min(200, 14 + LABEL_CHAR_PX * longest))},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": LIGHT["text"], "size": 11, "family": "system-ui, sans-serif"},
        "showlegend": False,
        "hovermode": "x unified",
        "dragmode": "zoom",
        "xaxis": {
            **axis,
            "type": "date",
            "range": [window.start_s * 1000, window.end_s * 1000],
            "showspikes": True,
            "spikemode": "across",
            "spikethickness": 1,
            "spikedash": "solid",
            "nticks": 6,
        },
        "yaxis": {
            **axis,
            "range": [0, top],
            "fixedrange": True,
            "nticks": 5,
            "title": {"text": escape(chart.unit, quote=False), "standoff": 6},
        },
        "meta": {"palettes": {"light": dict(LIGHT), "dark": dict(DARK)}},
    }
