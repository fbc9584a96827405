"""Resumable uploads and known artifacts over the wire."""

from typing import Any

from rest_framework import serializers

from apps.api.shapes.common import Asked, LinkField, Shape
from apps.api.shapes.versions import DirectoryField, VersionShape

UPLOAD_STATES = ("receiving", "numbering", "finished", "refused")


class UploadBeginning(Shape):
    """What `Upload-Metadata` may say of the version; other names are left alone."""

    model = serializers.CharField(max_length=128)
    filename = serializers.CharField(required=False, default="", allow_blank=True)
    number = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=1, max_value=2**63 - 1, help_text="Default: the next."
    )
    git_commit = serializers.CharField(required=False, default="", allow_blank=True, max_length=64)
    version_directory = DirectoryField()
    notes = serializers.CharField(required=False, default="", allow_blank=True, max_length=10_000)
    sha256 = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="Of the whole file; checked."
    )
    fingerprint = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=128, help_text="Your own mark to find it again by."
    )


class UploadFilter(Shape):
    """Which uploads."""

    model = serializers.CharField(required=False, default="", allow_blank=True)


class UploadShape(Shape):
    """A resumable upload: `receiving`, then `finished` with its version, or `refused` with an error.

    `numbering` where its number was taken meanwhile: POST another one to `url` with /number.
    """

    id = serializers.CharField(source="key")
    model = serializers.CharField(source="model.name")
    state = serializers.ChoiceField(choices=UPLOAD_STATES)
    filename = serializers.SerializerMethodField()
    fingerprint = serializers.CharField()
    sha256 = serializers.CharField(help_text="As announced; empty when it was not.")
    size_bytes = serializers.IntegerField()
    received_bytes = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    version = serializers.SerializerMethodField(help_text="The version it has become.")
    error = serializers.DictField(help_text="{code, title, message, hint} when refused or numbering, else empty.")
    url = LinkField("upload", upload_id="key")

    def get_filename(self, row: Any) -> str:
        """As the sender called it."""
        return str(row.wanted.get("filename", ""))

    def get_version(self, row: Any) -> dict[str, Any] | None:
        """Its number and address."""
        if row.version is None:
            return None
        link = LinkField("version", name="model.name", number="number")
        link.bind("url", self)
        return {"number": row.version.number, "url": link.to_representation(row.version)}


class UploadNumber(Asked):
    """Which number the version shall have."""

    number = serializers.IntegerField(
        allow_null=True, default=None, min_value=1, max_value=2**63 - 1, help_text="Default: the next."
    )


class BlockFilter(Shape):
    """From which block on."""

    first = serializers.IntegerField(required=False, default=0, min_value=0, max_value=2**32)


class BlocksShape(Shape):
    """The SHA-256 of each block of the bytes that have come; `next` is the `first` to ask for after these, or null."""

    block_bytes = serializers.IntegerField()
    received_bytes = serializers.IntegerField(help_text="The last block ends here.")
    first = serializers.IntegerField()
    sha256 = serializers.ListField(child=serializers.CharField())
    next = serializers.IntegerField(allow_null=True)


class ArtifactShape(Shape):
    """Bytes that have passed their checks, and the versions that have them."""

    sha256 = serializers.CharField(source="digest")
    size_bytes = serializers.IntegerField()
    unpacked_bytes = serializers.IntegerField()
    sealed_at = serializers.DateTimeField()
    versions = VersionShape(many=True)
    url = LinkField("artifact", sha256="digest")
