"""What preflight finds, over the wire."""

from rest_framework import serializers

from apps.api.shapes.common import Shape
from apps.serving.preflight import Severity


class ReportFilter(Shape):
    """For which environment."""

    environment = serializers.CharField(max_length=128)


class FindingShape(Shape):
    """A rule that is broken in one place; `server` is empty where it would be so on any."""

    rule = serializers.CharField(help_text="Stable; docs/preflight.md tells each.")
    severity = serializers.ChoiceField(
        choices=[str(severity) for severity in Severity],
        help_text='`error` blocks a promotion, `warning` asks (`confirm: ["warnings"]`), `note` is told.',
    )
    message = serializers.CharField()
    mend = serializers.CharField(help_text="The way out.")
    field = serializers.CharField()
    server = serializers.CharField()


class ReportShape(Shape):
    """A version held against every server of an environment that takes rollouts, from what is known by now."""

    model = serializers.CharField(source="version.model.name")
    version = serializers.IntegerField(source="version.number")
    environment = serializers.CharField()
    servers = serializers.ListField(child=serializers.CharField())
    blocks = serializers.SerializerMethodField(help_text="Whether a promotion would be refused.")
    asks = serializers.SerializerMethodField(help_text="Whether a promotion would ask for confirmation.")
    findings = FindingShape(many=True)

    def get_blocks(self, row: object) -> bool:
        """An error is among the findings."""
        return bool(row.of(Severity.ERROR))  # type: ignore[attr-defined]

    def get_asks(self, row: object) -> bool:
        """A warning is among the findings."""
        return bool(row.of(Severity.WARNING))  # type: ignore[attr-defined]
