"""Samples over the wire."""

from typing import Any

from rest_framework import serializers

from apps.api.shapes.common import Asked, JsonField, LinkField, Shape
from apps.registry import selectors

TOLERANCES = 'How each output is compared, by name: {"y": {"atol": 0.01}, "scores": {"compare": "label"}}.'


class InputShape(Asked):
    """One input tensor. `shape` includes the batch dimension where the model has one; `data` is flat or nested."""

    name = serializers.CharField(max_length=256)
    datatype = serializers.CharField(max_length=16, help_text="FP32, INT64, BYTES, ...")
    shape = serializers.ListField(child=serializers.IntegerField(min_value=0), max_length=16)
    data = JsonField()  # type: ignore[assignment]  # DRF has a property of that name on serializers


class OutputShape(InputShape):
    """One expected output, with how far an answer may be off."""

    atol = serializers.FloatField(required=False, min_value=0)
    rtol = serializers.FloatField(required=False, min_value=0)
    compare = serializers.ChoiceField(
        choices=("values", "label"),
        required=False,
        help_text="label: only which value is the largest, along the last axis.",
    )


class SampleShape(Shape):
    """Named inputs; golden when the answers are known."""

    model = serializers.CharField(source="model.name")
    name = serializers.CharField()
    is_golden = serializers.BooleanField()
    inputs = InputShape(many=True)
    outputs = OutputShape(many=True)
    capture = serializers.DictField(
        help_text="From where the outputs are taken: {environment, tolerances}, then {version, server, at} or {error}."
    )
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()
    url = LinkField("sample", name="model.name", sample="name")


class SampleDetailShape(SampleShape):
    """A sample with the ready versions that can take it."""

    fits = serializers.SerializerMethodField(help_text="Numbers of the ready versions that can take it.")
    misfits = serializers.SerializerMethodField(help_text="Why the others cannot, by number.")

    def get_fits(self, row: Any) -> list[int]:
        """The newest first."""
        return [number for number, reasons in self._judged(row).items() if not reasons]

    def get_misfits(self, row: Any) -> dict[str, list[str]]:
        """In words."""
        return {str(number): reasons for number, reasons in self._judged(row).items() if reasons}

    def _judged(self, row: Any) -> dict[int, list[str]]:
        return selectors.fits(row.model, row.inputs, row.outputs)


class SampleFiles(Shape):
    """A sample as NumPy's .npz files, with an array for each tensor."""

    name = serializers.CharField(max_length=128)
    inputs = serializers.FileField()
    outputs = serializers.FileField(required=False)
    tolerances = JsonField(required=False, help_text=TOLERANCES)


class SampleCapture(Asked):
    """A sample whose expected outputs are taken from the version that is live."""

    name = serializers.CharField(max_length=128)
    environment = serializers.CharField(max_length=128)
    inputs = InputShape(many=True, required=False, help_text="Default: made from the version's configuration.")
    tolerances = JsonField(required=False, help_text=TOLERANCES)


class SampleAddition(Asked):
    """A new sample; with `outputs` it is golden: every version must answer like that."""

    name = serializers.CharField(max_length=128)
    inputs = InputShape(many=True, allow_empty=False)
    outputs = OutputShape(many=True, required=False)
