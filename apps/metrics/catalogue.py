"""The charts there are: what each shows and from which signals. Pure; pages, API and docs read this list."""

from collections.abc import Iterable, Mapping

from apps.metrics.chart import Chart, Lines, Page, Words
from apps.metrics.machine_charts import GIB, MACHINE_CHARTS
from apps.metrics.model_charts import MODEL_CHARTS

__all__ = ["CHARTS", "GIB", "Chart", "Lines", "Page", "Words", "charts_on"]

CHARTS: Mapping[str, Chart] = {chart.key: chart for chart in (*MODEL_CHARTS, *MACHINE_CHARTS)}


def charts_on(page: Page) -> Iterable[Chart]:
    """The charts of a page, in the order they are shown."""
    return (chart for chart in CHARTS.values() if page in chart.pages)
