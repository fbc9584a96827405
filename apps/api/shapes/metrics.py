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
    is_optional = serializers.BooleanField(help_text="Many servers do not give it.")
    url = LinkField("chart", key="key")


class ChartsShape(Shape):
    """All charts there are."""

    results = ChartShape(many=True)


class ChartQuestion(Shape):
    """What a chart is about; an empty filter means all. A rollout stands for its model, versions and time."""

    environment = serializers.CharField(required=False, max_length=128, default="", allow_blank=True)
    server = serializers.CharField(required=False, max_length=128, default="", allow_blank=True)
    model = serializers.CharField(required=False, max_length=255, default="", allow_blank=True)
    versions = serializers.CharField(
        required=False, max_length=400, default="", allow_blank=True, help_text="Only these, with commas: 5,6."
    )
    rollout = serializers.IntegerField(required=False, min_value=1, default=None, allow_null=True)
    range_s = serializers.IntegerField(
        required=False,
        default=USUAL_S,
        min_value=SHORTEST_S,
        max_value=LONGEST_S,
        help_text="How far back, in seconds: a minute to 30 days.",
    )
    until = serializers.DateTimeField(
        required=False, default=None, allow_null=True, help_text="Where the time ends; without it, now."
    )
    per_server = serializers.BooleanField(
        required=False, default=False, help_text="A line for each server, instead of the sum or the worst."
    )


class BoardQuestion(ChartQuestion):
    """What a page of charts is about, and what the client has of it."""

    since_s = serializers.IntegerField(
        required=False, default=None, allow_null=True, help_text="`window.end_s` of the last answer."
    )
    shape = serializers.CharField(
        required=False, default="", max_length=64, allow_blank=True, help_text="`shape` of the last answer."
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


class WindowShape(Shape):
    """The points in time that charts are drawn at, in Unix seconds."""

    start_s = serializers.IntegerField()
    end_s = serializers.IntegerField()
    step_s = serializers.IntegerField()


class BoardShape(Shape):
    """All charts of a page.

    With `from_s`, each line's values begin there: put them over those that are known. Queries are left out of a chart
    whose tail comes: they are the same.
    """

    window = WindowShape()
    shape = serializers.CharField(help_text="Stands for everything but the values.")
    from_s = serializers.IntegerField(allow_null=True)
    charts = ChartAnswerShape(many=True)
    updated = serializers.DateTimeField()

    def to_representation(self, instance: dict[str, object]) -> dict[str, object]:
        """The charts are shaped already."""
        return {**super().to_representation({**instance, "charts": []}), "charts": instance["charts"]}


class NumbersQuestion(Shape):
    """Which models' figures."""

    models = serializers.CharField(max_length=16_000, help_text="Names, with commas.")
    environment = serializers.CharField(required=False, max_length=128, default="", allow_blank=True)
    range_s = serializers.IntegerField(
        required=False,
        default=USUAL_S,
        min_value=SHORTEST_S,
        max_value=LONGEST_S,
        help_text="How far back, in seconds.",
    )


class CourseShape(Shape):
    """A value now, and at each point of the window; null where there is none."""

    now = serializers.FloatField(allow_null=True)
    values = serializers.ListField(child=serializers.FloatField(allow_null=True))


class NumbersShape(Shape):
    """One model's figures, over all its servers and versions."""

    model = serializers.CharField()
    requests = CourseShape(help_text="Per second, added up.")
    latency_ms = CourseShape(help_text="p99 of the worst server, or the mean.")
    error_percent = CourseShape()
    is_mean = serializers.BooleanField(help_text="No server gives percentiles: latency is the mean.")
    budget_left = serializers.FloatField(
        allow_null=True,
        help_text="Of the promise of which least is left: 1 is all of it; below 0, more was spent than there is.",
    )
    budget_of = serializers.CharField(
        help_text="Which promise: errors (over 30 days), or latency (over a day, where a rule keeps its p99)."
    )


class FleetNumbersShape(Shape):
    """The figures of models; `problem` says why there are none, `budget_problem` why there are no budgets."""

    window = WindowShape()
    models = NumbersShape(many=True)
    problem = serializers.CharField()
    budget_problem = serializers.CharField()
