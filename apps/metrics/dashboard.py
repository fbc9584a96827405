"""A Grafana dashboard with every chart of the catalogue. Pure.

Its queries are the charts' own, with Grafana's variables where the pages put what was chosen.
"""

from typing import Any

from apps.metrics.catalogue import CHARTS
from apps.metrics.chart import Chart, Lines
from apps.metrics.sources import queries
from apps.serving.signals import Query, Selection

UID = "conch"
WIDTH, HEIGHT, COLUMNS = 12, 8, 2
_VARIABLES = ("environment", "model", "server")
_WINDOW_S = 3_456_789
_UNITS = {"ms": "ms", "s": "s", "%": "percent", "GiB": "gbytes", "W": "watt", "requests/s": "reqps"}


def dashboard() -> dict[str, Any]:
    """As Grafana imports it."""
    return {
        "uid": UID,
        "title": "Conch: models, servers and GPUs",
        "tags": ["conch", "triton"],
        "timezone": "browser",
        "schemaVersion": 39,
        "version": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "graphTooltip": 1,
        "templating": {"list": [_source(), *(_variable(name) for name in _VARIABLES)]},
        "panels": [_panel(chart, number) for number, chart in enumerate(CHARTS.values())],
    }


def _panel(chart: Chart, number: int) -> dict[str, Any]:
    row, column = divmod(number, COLUMNS)
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": chart.title,
        "description": chart.help,
        "datasource": {"type": "prometheus", "uid": "$source"},
        "gridPos": {"x": column * WIDTH, "y": row * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {
            "defaults": {
                "unit": _UNITS.get(chart.unit, "short"),
                "min": 0,
                "custom": {"spanNulls": False, "fillOpacity": 0, "axisLabel": chart.unit},
            },
            "overrides": [],
        },
        "options": {"legend": {"displayMode": "list", "calcs": ["lastNotNull"]}, "tooltip": {"mode": "multi"}},
        "targets": [target for lines in chart.lines for target in _targets(chart, lines)],
    }


def _targets(chart: Chart, lines: Lines) -> list[dict[str, Any]]:
    """One for each source, in the chart's unit, with the legend its lines have."""
    found = [query for query in queries(lines.signal, _selection()) if isinstance(query, Query)]
    scale = "" if chart.scale == 1 else f" * {chart.scale!r}"
    return [
        {
            "refId": f"{lines.signal}_{number}",
            "expr": f"({_with_variables(query.promql)}){scale}" if scale else _with_variables(query.promql),
            "legendFormat": " ".join([*(f"{{{{{label}}}}}" for label in query.by), lines.name]).strip(),
        }
        for number, query in enumerate(found)
    ]


def _selection() -> Selection:
    return Selection(environment="$environment", server="$server", model="$model", window_s=_WINDOW_S, by=_BY)


_BY = ("environment", "model", "version")


def _with_variables(promql: str) -> str:
    """Grafana's variables may stand for several values: they are regular expressions."""
    for name in _VARIABLES:
        promql = promql.replace(f'{name}="${name}"', f'{name}=~"${name}"')
    return promql.replace(f"[{_WINDOW_S}s]", "[$__rate_interval]")


def _source() -> dict[str, Any]:
    return {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _variable(name: str) -> dict[str, Any]:
    metric = "up" if name != "model" else 'nv_inference_request_success{model!~".*[.]shadow"}'
    return {
        "name": name,
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "$source"},
        "query": {"query": f"label_values({metric}, {name})", "refId": name},
        "refresh": 2,
        "includeAll": True,
        "allValue": ".*",
        "multi": True,
        "current": {"text": "All", "value": "$__all"},
    }
