"""The form for a sample: tensors typed as JSON or given as files, answers given or taken from what is live."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms

from apps.common.reading import read_json
from apps.console.forms.base import choose
from apps.registry.npz import MAX_FILE_BYTES

SAMPLE_INPUTS = '[{"name": "pixels", "datatype": "FP32", "shape": [1, 64], "data": [0, 0, 5]}]'
FILES = {"accept": ".npz,.npy"}


class SampleForm(forms.Form):
    """Named input tensors; with expected outputs they are golden."""

    name = forms.CharField(max_length=128)
    inputs = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "placeholder": SAMPLE_INPUTS}),
        help_text="JSON: a list of {name, datatype, shape, data}, the shape as on the wire, batch included.",
    )
    inputs_file = forms.FileField(
        label="Inputs as .npz",
        required=False,
        help_text="An array for each tensor, in place of the JSON above.",
        widget=forms.ClearableFileInput(attrs=FILES),
    )
    outputs = forms.CharField(
        label="Expected outputs",
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text="The same, with atol and rtol where numbers may differ. Given: every new version must answer so.",
    )
    outputs_file = forms.FileField(
        label="Expected outputs as .npz", required=False, widget=forms.ClearableFileInput(attrs=FILES)
    )
    capture = forms.ChoiceField(
        label="Take the outputs from what is live in",
        required=False,
        help_text="A worker asks it twice. Without inputs they are made from its configuration.",
    )
    tolerances = forms.CharField(
        required=False,
        widget=forms.TextInput(attrs={"spellcheck": "false", "placeholder": '{"scores": {"compare": "label"}}'}),
        help_text="For files and live answers, by output: atol and rtol, or compare by label.",
    )

    def __init__(self, *args: Any, environments: Iterable[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "capture", [("", "nowhere"), *((name, name) for name in environments)])

    def clean_inputs(self) -> list[Any]:
        """The inputs as JSON tells them."""
        return _tensors(self.cleaned_data["inputs"] or "[]")

    def clean_outputs(self) -> list[Any]:
        """The outputs as JSON tells them; none is none."""
        return _tensors(self.cleaned_data["outputs"] or "[]")

    def clean_inputs_file(self) -> bytes:
        """The file's bytes."""
        return _bytes(self.cleaned_data["inputs_file"])

    def clean_outputs_file(self) -> bytes:
        """The file's bytes."""
        return _bytes(self.cleaned_data["outputs_file"])

    def clean_tolerances(self) -> dict[str, Mapping[str, Any]]:
        """How each output is compared, by name."""
        found = _json(self.cleaned_data["tolerances"] or "{}")
        if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
            raise forms.ValidationError('Write an object such as {"scores": {"compare": "label"}}.')
        return found

    def clean(self) -> dict[str, Any]:
        """Inputs once, outputs at most once."""
        given = super().clean() or {}
        if given.get("inputs") and given.get("inputs_file"):
            self.add_error("inputs_file", "Give the inputs as JSON or as a file, not both.")
        if not any(given.get(name) for name in ("inputs", "inputs_file", "capture")) and not self.errors:
            self.add_error("inputs", "Give the inputs, or choose where they are taken from.")
        if sum(bool(given.get(name)) for name in ("outputs", "outputs_file", "capture")) > 1:
            self.add_error("capture", "Give the outputs in one way only.")
        return given


def _bytes(file: Any) -> bytes:
    if file is None:
        return b""
    if file.size > MAX_FILE_BYTES:
        raise forms.ValidationError(f"The file has more than {MAX_FILE_BYTES // 2**20} MiB.")
    return bytes(file.read())


def _tensors(text: str) -> list[Any]:
    found = _json(text)
    if not isinstance(found, list):
        raise forms.ValidationError("Give a list of tensors.")
    return found


def _json(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError as error:
        raise forms.ValidationError(f"This is not JSON: {error}") from error
