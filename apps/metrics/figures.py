"""Series to Plotly figures, as plain dicts. Pure.

Building the dict directly costs a twentieth of plotly.py's classes; a test holds every one against plotly.py's schema.
Times are Unix milliseconds in UTC and colours come by slot with both palettes: the page moves the times to the
reader's zone and picks the palette.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from apps.metrics.chart import Chart
from apps.metrics.labels import Label, place, shown
from apps.metrics.limits import Limit, limit_labels, limit_lines
from apps.metrics.marks import Mark, mark_lines, mark_points
from apps.metrics.palettes import DARK, LIGHT
from apps.metrics.windows import Window

HEIGHT_PX = 228
MARGIN_PX = {"l": 56, "t": 12, "b": 36}
LABEL_CHAR_PX = 6.6
LIMIT_WITHIN = 4.0
DOT_PX = 5
# A line that ends this close to the right edge is about now.
CURRENT_POINTS = 3


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


def figure(
    chart: Chart, lines: Sequence[Line], window: Window, *, marks: Iterable[Mark] = (), limits: Sequence[Limit] = ()
) -> dict[str, Any]:
    """The chart as Plotly draws it; `limits` in the chart's unit."""
    top = _top(lines, limits)
    seen = [mark for mark in marks if window.start_s <= mark.at.timestamp() <= window.end_s]
    labels = place(_ends(lines, window), top=top, height_px=HEIGHT_PX - MARGIN_PX["t"] - MARGIN_PX["b"])
    return {
        "data": [*(_trace(line, chart, window) for line in lines), *mark_points(seen, top)],
        "layout": {
            **_layout(chart, window, top, longest=max((len(label.text) for label in labels), default=0)),
            "shapes": [*mark_lines(seen), *limit_lines(limits)],
            "annotations": [
                *(_annotation(label, window) for label in labels),
                *limit_labels(limits, unit=chart.unit, top=top),
            ],
        },
    }


def _top(lines: Sequence[Line], limits: Sequence[Limit]) -> float:
    """Where the axis ends: room above the highest value, and above each limit that would not flatten everything."""
    highest = max((value for line in lines for value in line.values if value is not None), default=0.0)
    near = [limit.value for limit in limits if limit.value <= LIMIT_WITHIN * highest or not highest]
    return max([highest, *near]) * 1.12 or 1.0


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


def _ends(lines: Sequence[Line], window: Window) -> list[Label]:
    return [
        Label(line.slot, last[1], f"{line.name} {shown(last[1])}{'' if is_current(last[0], window) else ' (ended)'}")
        for line in lines
        if (last := line.last)
    ]


def is_current(index: int, window: Window) -> bool:
    """Whether a line whose last point is `index` is about now, or ended earlier."""
    return index >= len(window) - CURRENT_POINTS


def _annotation(label: Label, window: Window) -> dict[str, Any]:
    """The line's name and last value, beside the plot, however early the line ended: inside it would cover others."""
    return {
        "name": str(label.slot),
        "x": window.end_s * 1000,
        "y": label.value,
        "xshift": 4,
        "yshift": label.shift_px,
        "text": escape(label.text, quote=False),
        "showarrow": False,
        "xanchor": "left",
        "yanchor": "middle",
        "font": {"color": LIGHT[str(label.slot)], "size": 11},
    }


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
            "tickangle": 0,
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
