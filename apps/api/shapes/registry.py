"""Models and aliases over the wire."""

from typing import Any

from rest_framework import serializers

from apps.api.shapes.common import Asked, LinkField, Shape


class ModelShape(Shape):
    """A model."""

    name = serializers.CharField()
    owner = serializers.CharField()
    description = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    slo_p99_ms = serializers.FloatField(allow_null=True)
    slo_error_ratio = serializers.FloatField(allow_null=True)
    load_deadline_s = serializers.IntegerField()
    keep_versions = serializers.IntegerField(allow_null=True, help_text="Null: the installation's default. 0: all.")
    aliases = serializers.SerializerMethodField(help_text="Version number by alias.")
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()
    url = LinkField("model", name="name")

    def get_aliases(self, row: Any) -> dict[str, int]:
        """Number by alias, in order of name."""
        return {alias.name: alias.version.number for alias in sorted(row.aliases.all(), key=lambda one: one.name)}


class ModelChange(Asked):
    """What may be changed of a model."""

    owner = serializers.CharField(required=False, allow_blank=True, max_length=200)
    description = serializers.CharField(required=False, allow_blank=True, max_length=10_000)
    tags = serializers.ListField(required=False, child=serializers.CharField(max_length=64), max_length=50)
    slo_p99_ms = serializers.FloatField(required=False, allow_null=True, help_text="Promised 99th percentile, in ms.")
    slo_error_ratio = serializers.FloatField(required=False, allow_null=True, help_text="Promised ratio, 0 to 1.")
    keep_versions = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=10_000,
        help_text="Newest versions whose bytes stay; 0: all.",
    )
    load_deadline_s = serializers.IntegerField(
        required=False, min_value=1, max_value=86_400, help_text="How long a load may take."
    )


class ModelRegistration(ModelChange):
    """A new model."""

    name = serializers.CharField(max_length=300, help_text="[A-Za-z0-9_][A-Za-z0-9_.-]{0,120}, not ending in .shadow")


class ModelFilter(Shape):
    """Which models."""

    search = serializers.CharField(required=False, default="", allow_blank=True, help_text="Part of the name.")
    owner = serializers.CharField(required=False, default="", allow_blank=True)


class AliasTarget(Asked):
    """Where an alias shall point."""

    version = serializers.IntegerField(min_value=1, max_value=2**63 - 1)


class AliasShape(Shape):
    """A movable name for a version."""

    model = serializers.CharField(source="model.name")
    name = serializers.CharField()
    version = serializers.IntegerField(source="version.number")
    changed_at = serializers.DateTimeField()
