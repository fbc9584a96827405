"""The lines of a chart: in which order they are named."""

from apps.metrics.catalogue import CHARTS
from apps.metrics.lines import lines_of
from apps.metrics.prometheus import Series
from apps.serving.signals import Selection


def test_servers_are_named_by_number() -> None:
    chart = next(iter(CHARTS.values()))
    names = ["gpu-10", "gpu-2", "gpu-1"]
    series = [Series({"server": name, "version": "3"}, (1.0,)) for name in names]

    drawn = lines_of(chart, chart.lines[0], series, Selection(is_per_server=True))

    assert [line.name for line in drawn] == ["v3 gpu-1", "v3 gpu-2", "v3 gpu-10"]
