"""What is new in charts that somebody already has: only the tail goes over the wire. Pure."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from apps.metrics.windows import UNSETTLED_POINTS, Window

_MOVING = ("shapes", "annotations", "margin")


def shape_of(figures: Sequence[Mapping[str, Any] | None], window: Window) -> str:
    """Stands for everything about charts but their values: with the same shape a tail fits."""
    described = [
        None if one is None else [[trace["name"], trace["mode"], trace.get("line")] for trace in one["data"]]
        for one in figures
    ]
    return hashlib.sha256(json.dumps([window.step_s, len(window), described]).encode()).hexdigest()[:16]


def tail_from(window: Window, *, since_s: int, scrape_interval_s: int) -> int | None:
    """The first point that somebody who has all up to `since_s` needs; None when nothing they have can be used."""
    if since_s > window.end_s or (since_s - window.start_s) % window.step_s:
        return None
    first = since_s - max(UNSETTLED_POINTS * window.step_s, 2 * scrape_interval_s) // window.step_s * window.step_s
    return first if first > window.start_s else None


def tail(figure: Mapping[str, Any], window: Window, *, from_s: int) -> dict[str, Any]:
    """The figure with each line's points from `from_s` on, and what moves with them."""
    skipped = (from_s - window.start_s) // window.step_s
    layout = figure["layout"]
    return {
        "data": [_tail(trace, skipped, from_s) for trace in figure["data"]],
        "layout": {
            **{name: layout[name] for name in _MOVING},
            "xaxis": {"range": layout["xaxis"]["range"]},
            "yaxis": {"range": layout["yaxis"]["range"]},
        },
    }


def _tail(trace: Mapping[str, Any], skipped: int, from_s: int) -> dict[str, Any]:
    if "x0" not in trace:
        return dict(trace)
    kept = {"x0": from_s * 1000, "y": trace["y"][skipped:]}
    return kept | ({"marker": trace["marker"]} if trace["mode"] != "lines" else {})
