"""Environments' policies over the wire."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.api.shapes.common import Asked, JsonField, Shape
from apps.deployments.policy import Policy


def _inlined(node: Any, parts: dict[str, Any]) -> Any:
    """JSON schema as OpenAPI 3.0 has it: definitions where they are used, null as an attribute."""
    if isinstance(node, list):
        return [_inlined(one, parts) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        told = {key: value for key, value in node.items() if key == "default"}
        return {**_inlined(parts[node["$ref"].rsplit("/", 1)[1]], parts), **told}
    made = {key: _inlined(value, parts) for key, value in node.items() if key != "$defs"}
    if "exclusiveMinimum" in made:
        made |= {"minimum": made["exclusiveMinimum"], "exclusiveMinimum": True}
    choices = made.get("anyOf", [])
    if {"type": "null"} in choices:
        (only,) = [one for one in choices if one != {"type": "null"}]
        made = {**{key: value for key, value in made.items() if key != "anyOf"}, **only, "nullable": True}
    return made


_SCHEMA = Policy.model_json_schema()


@extend_schema_field(_inlined(_SCHEMA, _SCHEMA["$defs"]))
class DocumentField(JsonField):
    """A policy: the service reads it and names every fault."""


class PolicyShape(Shape):
    """One policy of an environment; number 0 is the default that nobody wrote."""

    environment = serializers.CharField(source="environment.name")
    number = serializers.IntegerField()
    policy = DocumentField(source="document")
    reason = serializers.CharField()
    actor = serializers.CharField()
    at = serializers.DateTimeField()


class PolicyChange(Asked):
    """A whole policy: keys that are left out get their defaults."""

    policy = DocumentField()
    based_on = serializers.IntegerField(
        required=False, min_value=0, max_value=2**31 - 1, help_text="Refused with 409 when another number is in force."
    )
    reason = serializers.CharField(required=False, allow_blank=True, max_length=2_000)
