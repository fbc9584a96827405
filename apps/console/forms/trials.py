"""The form for a request by hand."""

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms

from apps.common.reading import read_json
from apps.console.forms.base import choose

MOST_IMAGE_BYTES = 8 * 2**20


class TryForm(forms.Form):
    """Which server, and what to send: the tensors as JSON, or an image."""

    server = forms.ChoiceField()
    image = forms.ImageField(
        required=False,
        help_text="Scaled to the input's size; floats become 0..1. It takes the place of that input below.",
        widget=forms.ClearableFileInput(attrs={"accept": "image/*"}),
    )
    image_input = forms.ChoiceField(label="The image is for the input")
    inputs = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false", "class": "code-text"}),
        help_text="A list of {name, datatype, shape, data}; the shape has the batch dimension in front. "
        "Left empty: as said above.",
    )

    def __init__(self, *args: Any, servers: Iterable[tuple[str, str]], images: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "server", servers)
        choose(self, "image_input", [(name, name) for name in images])
        if len(images) < 2:  # noqa: PLR2004 - of one there is no choice
            del self.fields["image_input"]
        if not images:
            del self.fields["image"]

    def clean_image(self) -> bytes | None:
        """The file's bytes."""
        file = self.cleaned_data.get("image")
        if file is None:
            return None
        if file.size > MOST_IMAGE_BYTES:
            raise forms.ValidationError(f"The image has more than {MOST_IMAGE_BYTES // 2**20} MiB.")
        file.seek(0)
        return bytes(file.read())

    def clean_inputs(self) -> list[Any] | None:
        """The tensors, also the whole body of a request as a client sends it; None where nothing was written."""
        if not self.cleaned_data["inputs"]:
            return None
        try:
            found = read_json(self.cleaned_data["inputs"])
        except ValueError as error:
            raise forms.ValidationError(f"This is not JSON: {error}") from error
        if isinstance(found, dict) and isinstance(found.get("inputs"), list):
            found = [_without_parameters(one) for one in found["inputs"]]
        if not isinstance(found, list):
            raise forms.ValidationError("Give a list of tensors.")
        return found


def _without_parameters(tensor: Any) -> Any:
    return (
        {name: value for name, value in tensor.items() if name != "parameters"} if isinstance(tensor, dict) else tensor
    )
