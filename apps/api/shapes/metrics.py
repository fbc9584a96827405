"""Charts over the wire."""

from rest_framework import serializers

from apps.api.shapes.common import LinkField, Shape
from apps.metrics.windows import LONGEST_S, SHORTEST_S, USUAL_S


class ChartShape(Shape):
    """One chart of the catalogue."""

    key = serializers.CharField()
    title = serializers.CharField()
    unit = serializers.CharField()
    help = serializers.CharField()
    pages = serializers.ListField(child=serializers.CharField(), help_text="Where the console shows it.")
    url = LinkField("chart", key="key")


class ChartsShape(Shape):
    """All charts there are."""

    results = ChartShape(many=True)


class ChartQuestion(Shape):
    """What a chart is about; an empty filter means all."""

    environment = serializers.CharField(required=False, max_length=128, default="", allow_blank=True)
    server = serializers.CharField(required=False, max_length=128, default="", allow_blank=True)
    model = serializers.CharField(required=False, max_length=255, default="", allow_blank=True)
    range_s = serializers.IntegerField(
        required=False,
        default=USUAL_S,
        min_value=SHORTEST_S,
        max_value=LONGEST_S,
        help_text="How far back, in seconds: a minute to 30 days.",
    )


class LatestShape(Shape):
    """A line's last value; `is_current` tells whether it is about now or the line ended earlier."""

    name = serializers.CharField()
    value = serializers.FloatField()
    text = serializers.CharField(help_text="The value as people read it, without the unit.")
    is_current = serializers.BooleanField()


class ChartAnswerShape(Shape):
    """A chart as it is now. Prometheus's failures are a state of the chart, not of the request."""

    key = serializers.CharField(source="chart.key")
    title = serializers.CharField(source="chart.title")
    unit = serializers.CharField(source="chart.unit")
    help = serializers.CharField(source="chart.help")
    state = serializers.ChoiceField(choices=["ok", "empty", "error"])
    message = serializers.CharField(help_text="Why there is nothing to see, or what to know about the lines.")
    latest = LatestShape(many=True)
    figure = serializers.DictField(
        allow_null=True, help_text="A Plotly figure; times are Unix milliseconds in UTC; null unless `state` is ok."
    )
    queries = serializers.ListField(child=serializers.CharField(), help_text="What Prometheus was asked, in PromQL.")
    updated = serializers.DateTimeField()
