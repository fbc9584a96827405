"""Forms for environments, repositories and servers."""

from collections.abc import Iterable
from typing import Any

from django import forms

from apps.console.forms.base import choose, reason_field


class EnvironmentForm(forms.Form):
    """An environment's name and place."""

    name = forms.CharField(max_length=128, help_text="For example staging.")
    rank = forms.IntegerField(min_value=0, max_value=1_000, initial=0, help_text="Left to right: the lowest first.")

    def __init__(self, *args: Any, is_new: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not is_new:
            del self.fields["name"]


class RepositoryForm(forms.Form):
    """Where servers take their models from."""

    name = forms.CharField(max_length=128)
    environment = forms.ChoiceField()
    kind = forms.ChoiceField(
        choices=[
            ("posix", "A directory that workers and servers share"),
            ("s3", "A bucket that speaks S3"),
            ("inline", "Nothing: every load call brings the files"),
        ],
        initial="posix",
        help_text="Inline: up to 1 GiB a load. A server that restarts has nothing, until Conch loads it again.",
    )
    path = forms.CharField(
        required=False,
        max_length=1_000,
        help_text="Of a directory: absolute, as the Conch workers see it; the servers' --model-repository. "
        "Of a bucket: s3://bucket/prefix. One environment only. Inline has none.",
    )
    endpoint_url = forms.CharField(
        label="S3 endpoint",
        required=False,
        max_length=300,
        widget=forms.TextInput(attrs={"placeholder": "https://minio.example:9000"}),
        help_text="Of a bucket alone; empty: the installation's own. Keys come from CONCH_S3_*.",
    )
    region = forms.CharField(label="S3 region", required=False, max_length=64)

    def __init__(self, *args: Any, environments: Iterable[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "environment", [(name, name) for name in environments])


class ServerForm(forms.Form):
    """A server's addresses and key."""

    name = forms.CharField(max_length=128)
    environment = forms.ChoiceField()
    repository = forms.ChoiceField(help_text="The directory that this server reads its models from.")
    grpc = forms.CharField(
        label="gRPC address",
        max_length=255,
        widget=forms.TextInput(attrs={"placeholder": "triton-1:8001"}),
        help_text="Conch controls and checks the server here.",
    )
    http = forms.CharField(
        label="HTTP address",
        required=False,
        max_length=255,
        widget=forms.TextInput(attrs={"placeholder": "triton-1:8000"}),
    )
    metrics = forms.CharField(
        label="Metrics URL",
        required=False,
        max_length=255,
        widget=forms.TextInput(attrs={"placeholder": "http://triton-1:8002/metrics"}),
        help_text="Where Prometheus scrapes it; without it there are no charts.",
    )
    labels = forms.CharField(
        required=False,
        max_length=2_000,
        widget=forms.TextInput(attrs={"placeholder": "gpu=gpu-node-a/0 zone=eu"}),
        help_text="name=value, separated by spaces.",
    )
    control_key = forms.CharField(
        label="Control key, name",
        required=False,
        max_length=128,
        help_text="Only if the server restricts its model-repository API.",
    )
    control_value = forms.CharField(
        label="Control key, value",
        required=False,
        max_length=1_024,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="Kept encrypted, never shown again.",
    )

    def __init__(
        self, *args: Any, environments: Iterable[str] = (), repositories: Iterable[str] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        choose(self, "environment", [(name, name) for name in environments])
        choose(self, "repository", [(name, name) for name in repositories])

    def clean_labels(self) -> dict[str, str]:
        """`gpu=gpu-node-a/0 zone=eu` as pairs."""
        pairs = [part.partition("=") for part in str(self.cleaned_data["labels"]).split()]
        if any(not name or not equals for name, equals, _ in pairs):
            raise forms.ValidationError("Write name=value pairs, separated by spaces.")
        return {name: value for name, _, value in pairs}


class ServerChangeForm(ServerForm):
    """What of a server can be changed: the gRPC address is the server itself and stays."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("name", "environment", "repository", "grpc"):
            del self.fields[name]
        self.fields["control_value"].help_text = "Empty: the one that is kept stays."


class ReasonForm(forms.Form):
    """Asks why."""

    reason = reason_field()


class OptionalReasonForm(forms.Form):
    """Asks why, and takes silence."""

    reason = reason_field(label="Why (may be left empty)", is_required=False)
