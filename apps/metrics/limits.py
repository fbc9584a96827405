"""Lines that values should stay below: a model's promise, a rollout's gate. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from apps.metrics.labels import shown
from apps.metrics.palettes import LIGHT

_ROLE = "slo"


@dataclass(frozen=True, slots=True)
class Limit:
    """One such line: what it is called (`SLO`, `gate`) and where it stands."""

    name: str
    value: float


def limit_lines(limits: Sequence[Limit]) -> list[dict[str, Any]]:
    """The dashed lines."""
    line = {"color": LIGHT[_ROLE], "width": 1, "dash": "dash"}
    return [
        {
            "type": "line",
            "name": _ROLE,
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": one.value,
            "y1": one.value,
            "line": line,
        }
        for one in limits
    ]


def limit_labels(limits: Sequence[Limit], *, unit: str, top: float) -> list[dict[str, Any]]:
    """What the lines are, in one text where they coincide; one above the plot says so at its upper edge."""
    names: dict[float, list[str]] = {}
    for limit in limits:
        names.setdefault(limit.value, []).append(limit.name)
    return [_label(Limit(", ".join(same), value), unit=unit, top=top) for value, same in names.items()]


def _label(limit: Limit, *, unit: str, top: float) -> dict[str, Any]:
    beyond = " (above)" if limit.value > top else ""
    return {
        "name": _ROLE,
        "xref": "paper",
        "x": 0,
        "y": min(limit.value, top),
        "yshift": -7 if beyond else 7,
        "text": escape(f"{limit.name} {shown(limit.value)} {unit}{beyond}", quote=False),
        "showarrow": False,
        "xanchor": "left",
        "font": {"color": LIGHT[_ROLE], "size": 11},
    }
