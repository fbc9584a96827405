"""Requests made by hand over the wire."""

import base64
import binascii
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.api.shapes.common import Asked, LinkField, Shape
from apps.api.shapes.samples import InputShape

TRIAL_STATES = ("queued", "running", "answered", "failed")
ENDED = ("answered", "failed")


@extend_schema_field(OpenApiTypes.BYTE)
class Base64Field(serializers.CharField):
    """Bytes, written as base64."""

    def to_internal_value(self, data: Any) -> Any:
        """The bytes."""
        try:
            return base64.b64decode(super().to_internal_value(data), validate=True)
        except (binascii.Error, ValueError) as error:
            raise serializers.ValidationError(f"This is not base64: {error}") from error


class TrialRequest(Asked):
    """Ask one version on one server. Without `inputs`: the sample's; without either: made from the configuration.

    An `image` (PNG or JPEG) is scaled to the input that takes one, and takes its place; floats become 0..1.
    """

    server = serializers.CharField(max_length=128)
    model = serializers.CharField(max_length=128)
    version = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    inputs = InputShape(many=True, required=False)
    sample = serializers.CharField(required=False, allow_blank=True, max_length=128)
    image = Base64Field(required=False)
    image_input = serializers.CharField(
        required=False, allow_blank=True, max_length=256, help_text="Where several inputs take an image: which."
    )


class TrialFilter(Shape):
    """Of which model, perhaps of one version."""

    model = serializers.CharField()
    version = serializers.IntegerField(required=False, allow_null=True, default=None, min_value=1)


class TrialShape(Shape):
    """One request made by hand. `answer` has the outputs' first values and the times; else `error` says why not."""

    id = serializers.IntegerField(source="pk")
    state = serializers.ChoiceField(choices=TRIAL_STATES)
    has_ended = serializers.SerializerMethodField()
    server = serializers.CharField(source="server.name")
    model = serializers.CharField(source="model.name")
    version = serializers.IntegerField()
    answer = serializers.DictField()
    error = serializers.DictField()
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    url = LinkField("trial", trial_id="pk")

    def get_has_ended(self, row: Any) -> bool:
        """Whether it will not move any more."""
        return row.state in ENDED


class TrialDetailShape(TrialShape):
    """A trial with what was sent."""

    inputs = InputShape(many=True)
