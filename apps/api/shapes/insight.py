"""What Prometheus tells beyond charts, over the wire."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.api.shapes.common import Shape


class DevicesQuestion(Shape):
    """Whose cards; without a server, every one there is."""

    server = serializers.CharField(required=False, max_length=128, default="", allow_blank=True)


class SliceShape(Shape):
    """A MIG slice, or a whole GPU (`instance` is empty); null is what the exporter does not tell."""

    instance = serializers.CharField()
    profile = serializers.CharField()
    use = serializers.FloatField(allow_null=True, help_text="0 to 1.")
    used_bytes = serializers.FloatField(allow_null=True)
    total_bytes = serializers.FloatField(allow_null=True)
    is_mine = serializers.BooleanField(help_text="Whether the server asked about uses it.")
    is_unclear = serializers.BooleanField(
        help_text="The server uses a slice of this card, and nothing tells which: give it the label `mig`."
    )
    remarks = serializers.ListField(child=serializers.CharField())


class CardShape(Shape):
    """One GPU."""

    host = serializers.CharField()
    gpu = serializers.CharField()
    uuid = serializers.CharField()
    name = serializers.CharField()
    power_w = serializers.FloatField(allow_null=True, help_text="Of the card, once, however many slices it has.")
    slices = SliceShape(many=True)


class PictureShape(Shape):
    """Cards with their slices; `remarks` say what is missing, and why."""

    cards = CardShape(many=True)
    remarks = serializers.ListField(child=serializers.CharField())


class PromisesQuestion(Shape):
    """Which models' promises."""

    models = serializers.CharField(max_length=16_000, help_text="Names, with commas.")
    environment = serializers.CharField(required=False, max_length=128, default="", allow_blank=True)


class BudgetShape(Shape):
    """One promise of one model in one environment, as a budget."""

    model = serializers.CharField()
    environment = serializers.CharField()
    promise = serializers.ChoiceField(choices=["errors", "latency"])
    limit = serializers.FloatField(help_text="The share of failed requests, or the p99 in ms, that is promised.")
    allowed = serializers.FloatField(help_text="The share of requests, or of the time with traffic, that may be bad.")
    share = serializers.FloatField(source="spent.share", allow_null=True, help_text="The share that was bad.")
    recent_share = serializers.FloatField(source="spent.recent_share", allow_null=True, help_text="In the last hour.")
    left = serializers.SerializerMethodField(help_text="Of the budget: 1 is all of it; below 0, more was spent.")
    burn = serializers.SerializerMethodField(help_text="1 spends the budget in exactly its window.")
    window_s = serializers.IntegerField()
    requests = serializers.FloatField(allow_null=True)
    known_s = serializers.FloatField(allow_null=True, help_text="For how long Prometheus has known the servers.")
    remark = serializers.CharField()

    def get_left(self, row: Any) -> float | None:
        """Finite: JSON knows nothing else."""
        return _finite(row.left)

    def get_burn(self, row: Any) -> float | None:
        """Finite: JSON knows nothing else."""
        return _finite(row.burn)


class BudgetsShape(Shape):
    """Budgets; `problem` says why there are none."""

    budgets = BudgetShape(many=True)
    problem = serializers.CharField()


class AdviceQuestion(Shape):
    """About a model in an environment, or about a server."""

    environment = serializers.CharField(required=False, max_length=128, default="", allow_blank=True)
    model = serializers.CharField(required=False, max_length=255, default="", allow_blank=True)
    server = serializers.CharField(required=False, max_length=128, default="", allow_blank=True)


class NumberShape(Shape):
    """A number that a rule looked at."""

    measure = serializers.CharField()
    value = serializers.FloatField()
    means = serializers.CharField()


class AdviceShape(Shape):
    """A rule that holds, with the numbers it saw, and what to change."""

    rule = serializers.CharField(source="rule.key")
    title = serializers.CharField(source="rule.title")
    model = serializers.CharField()
    environment = serializers.CharField()
    server = serializers.CharField(help_text="The server it is about, where it is about one.")
    meaning = serializers.CharField(source="rule.meaning")
    change = serializers.CharField(source="rule.change")
    numbers = NumberShape(many=True)
    overlay = serializers.ListField(child=serializers.CharField(), help_text="What to set, as path=value.")
    apply_url = serializers.CharField(help_text="The console's overlay page with the change filled in.")
    read_more = serializers.CharField(source="rule.source", help_text="Who says so.")


class UnjudgedShape(Shape):
    """A rule that neither holds nor fails, and the number it lacks."""

    rule = serializers.CharField()
    lacks = serializers.CharField()


class AdvisedShape(Shape):
    """Everything found; `problem` says why nothing could be judged."""

    advice = AdviceShape(many=True)
    unjudged = serializers.SerializerMethodField(help_text="Rules that lack a number.")
    problem = serializers.CharField()

    @extend_schema_field(UnjudgedShape(many=True))
    def get_unjudged(self, row: Any) -> list[dict[str, str]]:
        """By key."""
        return [{"rule": rule.key, "lacks": measure} for rule, measure in row.unjudged]


_MOST = 1e6


def _finite(value: float | None) -> float | None:
    return None if value is None else max(-_MOST, min(_MOST, value))
