"""Versions over the wire."""

from datetime import datetime
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.api.shapes.common import Asked, JsonField, LinkField, Shape
from apps.api.shapes.estimates import EstimateShape
from apps.registry.estimating import all_here, rate_bytes_s
from apps.serving.configuration import ConfigEffect

STATES = ("fetching", "received", "checking", "choosing", "ready", "rejected", "archived", "removed")


class ProgressShape(Shape):
    """Bytes on their way in."""

    received_bytes = serializers.IntegerField()
    size_bytes = serializers.IntegerField(allow_null=True, help_text="Null: the source does not say.")
    rate_bytes_s = serializers.FloatField(allow_null=True, help_text="So far, waiting for its turn included.")
    estimate = EstimateShape()


def progress_of(fetch: Any, *, began_at: datetime) -> dict[str, Any]:
    """What is here of a fetch, how fast it comes, and how long that still takes."""
    times = {"began_at": began_at, "moved_at": fetch.moved_at}
    told = {
        "received_bytes": fetch.received_bytes,
        "size_bytes": fetch.size_bytes,
        "rate_bytes_s": rate_bytes_s(fetch.received_bytes, **times),
        "estimate": all_here(fetch.received_bytes, fetch.size_bytes, **times, now=timezone.now()),
    }
    return dict(ProgressShape(told).data)


class VersionShape(Shape):
    """A version as lists show it. `error` tells why it was rejected; `remarks` what was noticed on the way in."""

    model = serializers.CharField(source="model.name")
    number = serializers.IntegerField()
    state = serializers.ChoiceField(choices=STATES)
    digest = serializers.CharField(help_text="SHA-256 of what was uploaded.")
    size_bytes = serializers.IntegerField()
    filename = serializers.CharField()
    source = serializers.CharField(  # type: ignore[assignment]  # DRF has a word of that name on every field
        help_text="From where it was fetched; empty when it was uploaded."
    )
    progress = serializers.SerializerMethodField(help_text="While it is fetched; else null.")
    backend = serializers.CharField()
    git_commit = serializers.CharField()
    notes = serializers.CharField()
    remarks = serializers.ListField()
    error = serializers.DictField(
        help_text="{code, title, message, hint} when rejected or choosing, or put off; else empty."
    )
    choices = serializers.ListField(
        child=serializers.CharField(),
        help_text="While `choosing`: the version directories in the upload. POST one to `url` with /choose.",
    )
    choose_until = serializers.DateTimeField(allow_null=True, help_text="Until when the upload waits for that.")
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()
    ready_at = serializers.DateTimeField(allow_null=True)
    url = LinkField("version", name="model.name", number="number")

    @extend_schema_field(ProgressShape(allow_null=True))
    def get_progress(self, row: Any) -> dict[str, Any] | None:
        """How many bytes are here, and how many there are, if that is known."""
        fetch = getattr(row, "fetch", None) if row.state == "fetching" else None
        return progress_of(fetch, began_at=row.created_at) if fetch else None


class FileShape(Shape):
    """One file of a version."""

    path = serializers.CharField()
    size_bytes = serializers.IntegerField()
    sha256 = serializers.CharField()


class VersionDetailShape(VersionShape):
    """A version with its configuration and files."""

    signature = serializers.DictField(help_text="Inputs, outputs and max_batch_size.")
    config = serializers.DictField(help_text="The parsed model configuration.")
    config_text = serializers.CharField(help_text="The model configuration as uploaded.")
    files = FileShape(many=True, source="artifact.files", default=list, help_text="None before it is checked.")


class DiffFilter(Shape):
    """Compared with what."""

    def get_fields(self) -> dict[str, Any]:
        """`with` is a word of Python's own, so it cannot be declared."""
        number = serializers.IntegerField(min_value=1, max_value=2**63 - 1, help_text="The version it goes to.")
        return {"with": number}


class ConfigDifferenceShape(Shape):
    """One field of the configuration that differs."""

    path = serializers.CharField(help_text="`input[pixels].dims`, `parameters.threshold.string_value`")
    before = JsonField(allow_null=True)
    after = JsonField(allow_null=True)
    effect = serializers.ChoiceField(
        choices=[str(effect) for effect in ConfigEffect],
        help_text="`interface`: clients notice; `restart`: a loaded version restarts; `no_restart`: instances only; "
        "`not_used`: Conch decides it instead.",
    )


class FileDifferenceShape(Shape):
    """One file that was added, removed or changed."""

    path = serializers.CharField()
    before_bytes = serializers.IntegerField(allow_null=True, help_text="Null: added.")
    after_bytes = serializers.IntegerField(allow_null=True, help_text="Null: removed.")


class ComparisonShape(Shape):
    """What changes from one version to another: by meaning, whatever the files' layout."""

    is_same = serializers.BooleanField()
    config = ConfigDifferenceShape(many=True)
    files = FileDifferenceShape(many=True)
    text = serializers.ListField(
        child=serializers.CharField(), help_text="A unified diff of both configurations, written the same way."
    )


class DirectoryField(serializers.CharField):
    """A version's directory in an archive, not named unless there are several."""

    def __init__(self) -> None:
        super().__init__(
            required=False,
            default="",
            allow_blank=True,
            max_length=19,
            help_text="Which version is meant where the archive holds several; untold, it will be `choosing`.",
        )


class VersionUpload(Shape):
    """A version's bytes: an archive of a model directory or of its files, or one model file by itself."""

    file = serializers.FileField()
    number = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=1, max_value=2**63 - 1, help_text="Default: the next."
    )
    git_commit = serializers.CharField(required=False, default="", allow_blank=True, max_length=64)
    version_directory = DirectoryField()
    notes = serializers.CharField(required=False, default="", allow_blank=True, max_length=10_000)


class VersionReference(Asked):
    """A version whose bytes lie somewhere else already."""

    sha256 = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="Of the bytes: checked, and known ones are not fetched."
    )
    number = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=1, max_value=2**63 - 1, help_text="Default: the next."
    )
    git_commit = serializers.CharField(required=False, default="", allow_blank=True, max_length=64)
    version_directory = DirectoryField()
    notes = serializers.CharField(required=False, default="", allow_blank=True, max_length=10_000)

    def get_fields(self) -> dict[str, Any]:
        """With `from`, which is no name in Python."""
        return {
            "from": serializers.CharField(
                max_length=2_000,
                help_text="s3://bucket/key, https://host/path, /folder/file, models:/name/3 or sha256:<digest>",
            ),
            **super().get_fields(),
        }


class VersionChoice(Asked):
    """Which of several versions is meant."""

    version_directory = serializers.CharField(max_length=19, help_text="One of the version's `choices`.")


class VersionFilter(Shape):
    """Which versions."""

    state = serializers.ChoiceField(choices=STATES, required=False, default="", allow_blank=True)
