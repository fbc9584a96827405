"""Forms for models, uploads, samples and aliases."""

from collections.abc import Iterable
from typing import Any

from django import forms

from apps.console.forms.base import choose


class ModelForm(forms.Form):
    """A model's name, owner and promise."""

    name = forms.CharField(max_length=128, help_text="As clients ask for it: letters, digits, '_', '.', '-'.")
    owner = forms.CharField(required=False, max_length=200, help_text="Who to call.")
    description = forms.CharField(required=False, max_length=4_000, widget=forms.Textarea(attrs={"rows": 2}))
    tags = forms.CharField(required=False, max_length=500, help_text="Separated by commas.")
    slo_p99_ms = forms.FloatField(
        label="Promise: p99 latency, ms", required=False, min_value=0, help_text="Drawn as a line in the charts."
    )
    slo_error_percent = forms.FloatField(
        label="Promise: failed requests, %", required=False, min_value=0, max_value=100
    )
    keep_versions = forms.IntegerField(
        label="Versions to keep",
        required=False,
        min_value=0,
        max_value=10_000,
        help_text="Older ones lose their bytes unless something holds them. Empty: the default. 0: all stay.",
    )
    load_deadline_s = forms.IntegerField(
        label="Load deadline, seconds",
        min_value=1,
        max_value=86_400,
        initial=300,
        help_text="A load that takes longer is called stuck.",
    )

    def __init__(self, *args: Any, is_new: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not is_new:
            del self.fields["name"]

    def clean_tags(self) -> list[str]:
        """The tags one by one."""
        return [tag.strip() for tag in str(self.cleaned_data["tags"]).split(",") if tag.strip()]

    @property
    def fields_of_model(self) -> dict[str, Any]:
        """What the service takes, the error promise as a ratio."""
        given = {name: value for name, value in self.cleaned_data.items() if name not in ("name", "slo_error_percent")}
        percent = self.cleaned_data["slo_error_percent"]
        return given | {"slo_error_ratio": None if percent is None else percent / 100}


class DirectoryField(forms.RegexField):
    """A version's directory in an archive that holds several."""

    def __init__(self) -> None:
        super().__init__(
            r"^[1-9][0-9]{0,18}$",
            label="Version directory",
            required=False,
            help_text="Of several in the archive, the one that is meant. Empty: the only one, or you are asked.",
            error_messages={"invalid": "A version directory's name is a number, such as 7."},
        )


class UploadForm(forms.Form):
    """A version's bytes and where they come from."""

    file = forms.FileField(
        label="Archive",
        help_text="A Triton model directory as .zip, .tar, .tar.gz or .tar.zst; or one .onnx, .plan, .pt or .py.",
        widget=forms.ClearableFileInput(attrs={"accept": ".zip,.tar,.gz,.tgz,.zst,.onnx,.plan,.engine,.pt,.py"}),
    )
    number = forms.IntegerField(
        label="Version number", required=False, min_value=1, max_value=2**63 - 1, help_text="Empty: the next one."
    )
    version_directory = DirectoryField()
    git_commit = forms.CharField(label="Commit", required=False, max_length=64)
    notes = forms.CharField(required=False, max_length=4_000, widget=forms.Textarea(attrs={"rows": 2}))


class FetchForm(forms.Form):
    """Where a version's bytes lie already."""

    source = forms.CharField(
        label="From",
        max_length=2_000,
        help_text="s3://bucket/key, https://host/path, /folder/file, models:/name/3 or sha256:…",
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
    )
    sha256 = forms.CharField(label="SHA-256", required=False, max_length=64, help_text="Given: the bytes must have it.")
    number = forms.IntegerField(
        label="Version number", required=False, min_value=1, max_value=2**63 - 1, help_text="Empty: the next one."
    )
    version_directory = DirectoryField()
    git_commit = forms.CharField(label="Commit", required=False, max_length=64)
    notes = forms.CharField(required=False, max_length=4_000, widget=forms.Textarea(attrs={"rows": 2}))


class NumberForm(forms.Form):
    """The number of a version whose bytes are here already."""

    number = forms.IntegerField(label="Version number", min_value=1, max_value=2**63 - 1)


class ChoiceForm(forms.Form):
    """Which of the versions in an upload is meant."""

    version_directory = forms.ChoiceField(label="Version directory", widget=forms.RadioSelect)

    def __init__(self, *args: Any, choices: Iterable[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "version_directory", [(name, f"{name}/") for name in choices])


class AliasForm(forms.Form):
    """A movable name for a version."""

    alias = forms.CharField(max_length=128, help_text="For example champion.")
    version = forms.TypedChoiceField(coerce=int)

    def __init__(self, *args: Any, versions: Iterable[int], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "version", [(number, str(number)) for number in versions])
