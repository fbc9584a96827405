"""docs/charts.md, written from the catalogue. Pure."""

from collections.abc import Iterator

from apps.metrics.catalogue import CHARTS, Chart
from apps.metrics.sources import query, sources
from apps.serving.signals import Query, Selection

_HEAD = """# Charts

Written by `manage.py list_charts` from `apps/metrics/catalogue.py`; a test holds the two equal. Each chart is at
`/api/v1/charts/{key}` (filters `environment`, `server`, `model`, `range_s`) and on the pages named below. The queries
are those for `environment="prod"`, `model="digits"` with a scrape every 15 s, so over 60 s.
"""
_ASKED = Selection(environment="prod", model="digits", window_s=60)


def charts_document() -> str:
    """The whole page, in Markdown."""
    return "\n".join([_HEAD, *(line for chart in CHARTS.values() for line in _section(chart))])


def _section(chart: Chart) -> Iterator[str]:
    yield f"## {chart.title} (`{chart.key}`)\n"
    yield f"{chart.help}\n"
    yield f"Unit: {chart.unit}. Pages: {', '.join(chart.pages)}.{_promise(chart)}\n"
    for lines in chart.lines:
        instead = f", where there is no `{lines.instead_of}`" if lines.instead_of else ""
        yield f"- `{lines.signal}`{instead}"
        for source in sources(lines.signal):
            found = query(source, lines.signal, _ASKED)
            yield f"  - {source}: " + (f"`{found.promql}`" if isinstance(found, Query) else found.reason)
            if isinstance(found, Query) and found.absent:
                yield f"  - where it is missing: {found.absent}"
    yield ""


def _promise(chart: Chart) -> str:
    return f" The model's `{chart.slo}` is drawn as a line." if chart.slo else ""
