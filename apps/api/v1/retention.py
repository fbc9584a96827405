"""What retention would remove."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.described import described
from apps.api.doors import ApiView, filters
from apps.api.shapes.common import Shape
from apps.deployments import selectors
from apps.registry.errors import ModelUnknown


class CopyShape(Shape):
    """Published bytes in one repository."""

    repository = serializers.CharField()
    size_bytes = serializers.IntegerField()


def _copies(row: Any) -> Any:
    return CopyShape([{"repository": name, "size_bytes": size} for name, size in row.copies], many=True).data


class JudgedShape(Shape):
    """A version that is older than those kept by number."""

    model = serializers.CharField(source="version.model.name")
    version = serializers.IntegerField(source="version.number")
    state = serializers.CharField(source="version.state")
    held_by = serializers.ListField(child=serializers.CharField(), help_text="What keeps its bytes; empty: nothing.")
    freed_bytes = serializers.IntegerField(help_text="In the store; 0 where another version has the same bytes.")
    copies = serializers.SerializerMethodField(help_text="Where it was published, and its bytes there.")

    @extend_schema_field(CopyShape(many=True))
    def get_copies(self, row: Any) -> Any:
        """By the version's manifest."""
        return _copies(row)


class RetentionShape(Shape):
    """What would go now; nothing is changed by asking."""

    goes = JudgedShape(many=True)
    held = JudgedShape(many=True)
    orphans = serializers.SerializerMethodField(help_text="Stored bytes that no version has: {digest, size_bytes}.")
    leftover_bytes = serializers.IntegerField(help_text="Of uploads and checks whose process died; 0 for one model.")
    freed_bytes = serializers.IntegerField(help_text="All that would be free in the artifact store afterwards.")
    copies = serializers.SerializerMethodField(help_text="What would be free in each repository besides.")

    @extend_schema_field(CopyShape(many=True))
    def get_copies(self, row: Any) -> Any:
        """By name."""
        return _copies(row)

    def get_orphans(self, row: Any) -> list[dict[str, Any]]:
        """In order of digest."""
        return [{"digest": digest, "size_bytes": size} for digest, size in row.orphans]


class RetentionFilter(Shape):
    """Of which model."""

    model = serializers.CharField(required=False, default="", allow_blank=True)


class RetentionPlan(ApiView):
    """A dry run of retention."""

    @described("Show what retention would remove", gives=RetentionShape, filters=RetentionFilter, errors=[ModelUnknown])
    def get(self, request: Request) -> Response:
        """Versions beyond those a model keeps, what holds them, and how many bytes go. The clock does it hourly."""
        found = selectors.retention(model=filters(RetentionFilter, request)["model"])
        return Response(self.shape(RetentionShape, found))
