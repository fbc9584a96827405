"""A promotion's plan over the wire."""

from typing import Any

from rest_framework import serializers

from apps.api.shapes.common import Shape
from apps.deployments.memory import Fit


class AskedShape(Shape):
    """A version that would be dropped and was asked for within the last hour; Conch's own warm-ups are counted too."""

    version = serializers.IntegerField()
    at = serializers.DateTimeField()
    by_number = serializers.BooleanField(help_text="It was named by number: a higher one was loaded. They will fail.")


class PlannedServerShape(Shape):
    """One server's share. Hot: the version is loaded there already, so after its try aside nothing is left to load.

    `load`, `keep` and `drop` are told from what was last seen there. What nobody has seen yet is null.
    """

    server = serializers.CharField()
    wave = serializers.IntegerField(help_text="Counted from 0.")
    load = serializers.ListField(child=serializers.IntegerField())
    keep = serializers.ListField(child=serializers.IntegerField(), help_text="Kept loaded, to go back at once.")
    drop = serializers.ListField(child=serializers.IntegerField())
    is_hot = serializers.BooleanField()
    steps = serializers.ListField(child=serializers.CharField(), help_text="Of its run, in order.")
    expected_s = serializers.FloatField(allow_null=True)
    expected_bytes = serializers.IntegerField(
        allow_null=True, help_text="Memory that the version takes, by its earlier loads."
    )
    free_bytes = serializers.IntegerField(allow_null=True, help_text="Free when Conch last read it, at `free_at`.")
    free_at = serializers.DateTimeField(allow_null=True)
    memory = serializers.ChoiceField(
        choices=[str(one) for one in Fit],
        help_text="`short`: preflight will refuse it (memory_short) if it reads the same; `drops_standby`: the "
        "standby is let go of first; `unknown` stands in nobody's way.",
    )
    asked = AskedShape(many=True, help_text="Of `drop`, what was asked for lately.")


class PlannedGateShape(Shape):
    """A gate that will be judged; `remark` says why it does not apply."""

    name = serializers.CharField()
    sentence = serializers.CharField()
    remark = serializers.CharField()


class ObstacleShape(Shape):
    """What the promotion would be refused for."""

    code = serializers.CharField()
    title = serializers.CharField()
    message = serializers.CharField()
    hint = serializers.CharField()


class PlanShape(Shape):
    """What a promotion would do. With any `obstacles` it would be refused, by the first of them."""

    environment = serializers.CharField()
    model = serializers.CharField()
    from_version = serializers.IntegerField(allow_null=True)
    to_version = serializers.IntegerField()
    policy_number = serializers.IntegerField()
    waves = serializers.ListField(child=serializers.IntegerField(), help_text="Servers in each.")
    parallel = serializers.IntegerField(help_text="Servers at a time.")
    bakes_s = serializers.ListField(child=serializers.IntegerField(), help_text="After each wave.")
    servers = PlannedServerShape(many=True)
    gates = PlannedGateShape(many=True)
    needs_approval = serializers.BooleanField()
    interface_changes = serializers.ListField(child=serializers.CharField())
    obstacles = ObstacleShape(many=True)
    no_shadow = serializers.CharField(help_text="Why it is not tried aside, where it is not.")
    would_begin = serializers.SerializerMethodField()
    expected_s = serializers.FloatField(allow_null=True, help_text="All of it, bakes included; null: not known yet.")

    def get_would_begin(self, row: Any) -> bool:
        """Whether nothing stands in its way; an approval may still be waited for."""
        return not row.obstacles


class ReleasePlanShape(Shape):
    """What a release would do: the plan of each model, in the company of the others."""

    environment = serializers.CharField()
    items = PlanShape(many=True)
    would_begin = serializers.BooleanField(help_text="Whether no item has an obstacle; one refuses the whole.")
    expected_s = serializers.FloatField(allow_null=True, help_text="As long as the longest; null: not known yet.")
