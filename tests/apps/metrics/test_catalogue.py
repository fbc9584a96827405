"""Every chart can be asked of every kind of server, and docs/charts.md lists what there is."""

from pathlib import Path

import pytest

from apps.metrics import catalogue, selectors
from apps.metrics.catalogue import CHARTS, Chart, Page
from apps.metrics.document import charts_document
from apps.metrics.errors import ChartUnknown
from apps.registry.models import Model
from apps.serving import backends, dcgm
from apps.serving.signals import DEVICE_SIGNALS, UNITS, Query, Selection, Signal, Unsupported

DOCUMENT = Path(__file__).parents[3] / "docs" / "charts.md"


@pytest.mark.parametrize("kind", backends.kinds())
@pytest.mark.parametrize("signal", Signal)
def test_every_kind_gives_a_query_for_every_signal_or_says_why_not(kind: str, signal: Signal) -> None:
    found = backends.get(kind).query(signal, Selection(model="m"))

    assert isinstance(found, Query | Unsupported)
    assert getattr(found, "promql", "") or getattr(found, "reason", "")


@pytest.mark.parametrize("signal", Signal)
def test_the_exporter_of_devices_gives_a_query_for_what_it_tells_and_says_so_of_the_rest(signal: Signal) -> None:
    found = dcgm.query(signal, Selection())

    assert isinstance(found, Query) is (signal in DEVICE_SIGNALS)


@pytest.mark.parametrize("signal", Signal)
def test_every_signal_is_in_a_chart(signal: Signal) -> None:
    shown = {lines.signal for chart in CHARTS.values() for lines in chart.lines}

    for_gates = {Signal.ANSWERED_COUNT, Signal.FAILED_COUNT}
    assert signal in shown | for_gates | {Signal.IS_SCRAPED}


@pytest.mark.parametrize("signal", Signal)
def test_every_signal_has_a_unit(signal: Signal) -> None:
    assert UNITS[signal]


@pytest.mark.parametrize("chart", CHARTS.values(), ids=lambda chart: chart.key)
def test_every_chart_says_what_it_shows(chart: Chart) -> None:
    assert chart.title
    assert chart.unit
    assert chart.help.endswith(".")
    assert chart.lines
    assert chart.pages


@pytest.mark.parametrize("chart", CHARTS.values(), ids=lambda chart: chart.key)
def test_every_promise_is_a_field_of_the_model(chart: Chart) -> None:
    assert chart.slo in {"", *(field.name for field in Model._meta.get_fields())}


@pytest.mark.parametrize("page", Page)
def test_every_page_has_charts(page: Page) -> None:
    assert list(catalogue.charts_on(page))


def test_a_chart_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(ChartUnknown, match="there is no chart 'cats'; there are: requests, latency"):
        selectors.get_chart("cats")


def test_the_document_is_the_catalogue() -> None:
    assert DOCUMENT.read_text() == charts_document(), "run: manage.py list_charts > docs/charts.md"
