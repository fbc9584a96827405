"""Shapes that every resource uses."""

from collections.abc import Mapping
from typing import Any

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

Shape = serializers.Serializer[Any]
EVERYWHERE = "*"


class Asked(Shape):
    """A body that somebody sends: a field that does not exist is refused, not ignored."""

    def to_internal_value(self, data: Any) -> Any:
        """The fields' values; a typing error in a field's name must not go unnoticed."""
        strange = sorted(set(map(str, data)) - set(self.fields)) if isinstance(data, Mapping) else []
        if strange:
            known = ", ".join(name for name, field in self.fields.items() if not field.read_only)
            raise serializers.ValidationError(
                {name: [f"There is no such field. There are: {known}."] for name in strange}
            )
        return super().to_internal_value(data)


class JsonField(serializers.JSONField):
    """Any JSON value whose text databases can keep."""

    def to_internal_value(self, data: Any) -> Any:
        """The value, unless a text in it holds a NUL character."""
        if _holds_nul(data):
            raise serializers.ValidationError("Null characters are not allowed.")
        return super().to_internal_value(data)


@extend_schema_field(OpenApiTypes.URI)
class LinkField(serializers.Field[Any, Any, str, Any]):
    """The absolute address of the row itself; `at` gives the path's arguments."""

    def __init__(self, route: str, **at: str) -> None:
        super().__init__(source="*", read_only=True)
        self.route, self.at = route, at

    def to_representation(self, value: Any) -> str:
        """The address as this request's host has it."""
        found = reverse(f"api:{self.route}", kwargs={name: _follow(value, path) for name, path in self.at.items()})
        request = self.context.get("request")
        return str(request.build_absolute_uri(found)) if request else found


class FieldErrorShape(Shape):
    """One fault in a field."""

    field = serializers.CharField()
    message = serializers.CharField()


class ProblemShape(Shape):
    """RFC 9457 problem details; `code` is stable, and `retryable` says whether asking again may help."""

    type = serializers.CharField(help_text="Where this kind of problem is explained.")
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField(help_text="What object, and the cause.")
    instance = serializers.CharField()
    code = serializers.CharField()
    hint = serializers.CharField(help_text="The way out; may be empty.")
    retryable = serializers.BooleanField()
    errors = FieldErrorShape(many=True, help_text="Each faulty field of the request.")  # type: ignore[assignment]
    facts = serializers.DictField(help_text="More about this one, for instance `rollout` of a `rollout_active`.")


class DeadlineShape(Shape):
    """How long to wait for something to end."""

    wait = serializers.IntegerField(
        min_value=0, required=False, default=0, help_text="Seconds to wait for the end; at most 60 are waited."
    )


class ReasonShape(Asked):
    """Why."""

    reason = serializers.CharField(max_length=2_000, help_text="Kept in the audit.")


def _holds_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\x00" in value
    if isinstance(value, Mapping):
        return any(_holds_nul(key) or _holds_nul(inner) for key, inner in value.items())
    return isinstance(value, list) and any(_holds_nul(inner) for inner in value)


def _follow(row: Any, path: str) -> Any:
    for name in path.split("."):
        row = getattr(row, name)
    return row
