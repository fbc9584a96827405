"""Models, their versions and bytes, aliases and samples."""

from collections.abc import Mapping
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.registry.states import UPLOAD_MOVES, VERSION_MOVES, UploadState, VersionState


class Model(models.Model):
    """A name Triton accepts, its owner, and what it promises."""

    name = models.CharField(max_length=128, unique=True)
    owner = models.CharField(max_length=200, blank=True)
    description = models.TextField(blank=True)
    tags = models.JSONField(default=list)
    slo_p99_ms = models.FloatField(null=True)
    slo_error_ratio = models.FloatField(null=True)
    load_deadline_s = models.PositiveIntegerField(default=300)
    keep_versions = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="model_name_is_allowed",
                condition=Q(name__regex=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$") & ~Q(name__endswith=".shadow"),
            )
        ]

    def __str__(self) -> str:
        return self.name


class Artifact(models.Model):
    """Bytes addressed by the SHA-256 of what was uploaded; sealed once unpacked and checked.

    `files` lists {path, size_bytes, sha256} relative to the artifact's directory, whose layout is
    `config.pbtxt`, `version/...` (one version directory) and `shared/...` (other files of the model directory).
    """

    digest = models.CharField(max_length=64, unique=True)
    size_bytes = models.BigIntegerField()
    unpacked_bytes = models.BigIntegerField()
    files = models.JSONField(default=list)
    sealed_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"sha256:{self.digest[:12]}"


class Version(models.Model):
    """Model + whole number + artifact + parsed configuration; immutable once `ready`.

    `number` is Triton's version directory. `incoming` names the received file until it is checked.
    `config` is the whole configuration as JSON-shaped values, `signature` its inputs and outputs,
    `inspection` what its sources say of themselves, `source` where bytes that were not uploaded came from.
    `version_directory` is the one that was asked for where an archive holds several; nobody having said which,
    `choices` are those it holds, until `choose_until`.
    `request_key` tells the request that made it from any other, so that the same one sent again finds it.
    """

    MOVES: ClassVar[Mapping[str, frozenset[str]]] = VERSION_MOVES

    model = models.ForeignKey(Model, on_delete=models.PROTECT, related_name="versions")
    number = models.BigIntegerField()
    state = models.CharField(max_length=16, default=VersionState.RECEIVED)
    artifact = models.ForeignKey(Artifact, on_delete=models.PROTECT, null=True, related_name="versions")
    incoming = models.CharField(max_length=64, blank=True)
    digest = models.CharField(max_length=64, blank=True)
    size_bytes = models.BigIntegerField()
    filename = models.CharField(max_length=255, blank=True)
    version_directory = models.CharField(max_length=32, blank=True)
    choices = models.JSONField(default=list)
    choose_until = models.DateTimeField(null=True)
    source = models.CharField(max_length=2_000, blank=True)
    backend = models.CharField(max_length=128, blank=True)
    config_text = models.TextField(blank=True)
    config = models.JSONField(default=dict)
    signature = models.JSONField(default=dict)
    inspection = models.JSONField(default=dict)
    remarks = models.JSONField(default=list)
    error = models.JSONField(default=dict)
    git_commit = models.CharField(max_length=64, blank=True)
    notes = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.CharField(max_length=200, blank=True)
    ready_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    checks_begun = models.PositiveSmallIntegerField(default=0)
    request_key = models.CharField(max_length=64, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["model", "number"], condition=~Q(state=VersionState.REJECTED), name="one_version_per_number"
            ),
            models.CheckConstraint(name="version_number_is_positive", condition=Q(number__gte=1)),
        ]
        indexes = [
            models.Index(fields=["state", "lease_until"], name="version_due"),
            models.Index(fields=["request_key"], condition=~Q(request_key=""), name="version_by_request"),
        ]

    def __str__(self) -> str:
        return f"{self.model} version {self.number}"


class Fetch(models.Model):
    """Bytes of a version that a worker takes from somewhere; gone once they are here, or never will be.

    `reference` may hold a secret, the version's `source` does not. `mark` tells the source's bytes from other ones;
    `moved_at` is when a byte last came. `attempts` are those that the source failed, `begun` those without any end.
    `reserved_bytes` is its share of what may be on its way in, 0 until it has one.
    """

    version = models.OneToOneField(Version, on_delete=models.CASCADE, related_name="fetch")
    reference = models.TextField()
    sha256 = models.CharField(max_length=64, blank=True)
    limit_bytes = models.BigIntegerField()
    mark = models.CharField(max_length=200, blank=True)
    size_bytes = models.BigIntegerField(null=True)
    received_bytes = models.BigIntegerField(default=0)
    reserved_bytes = models.BigIntegerField(default=0, db_default=0)
    attempts = models.PositiveIntegerField(default=0)
    begun = models.PositiveSmallIntegerField(default=0, db_default=0)
    due_at = models.DateTimeField(default=timezone.now, db_index=True)
    moved_at = models.DateTimeField(default=timezone.now)
    lease_until = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"fetch for {self.version}"


class Upload(models.Model):
    """Bytes that come in over many requests, until they are a version or their time is up.

    `key` names it in its address and its file among the incoming ones. `owner` is the identity that began it and
    alone may go on; `actor` is the same as the audit keeps it. `wanted` is what the version shall be called and say.
    `received_bytes` are on the disk for certain. `sha256` is what the sender says, empty when it says nothing;
    `digest` is what they have, once all are here and nothing but their number stands in the way.
    """

    MOVES: ClassVar[Mapping[str, frozenset[str]]] = UPLOAD_MOVES

    key = models.CharField(max_length=32, unique=True)
    model = models.ForeignKey(Model, on_delete=models.CASCADE, related_name="uploads")
    owner = models.CharField(max_length=220, db_index=True)
    actor = models.JSONField()
    state = models.CharField(max_length=16, default=UploadState.RECEIVING)
    wanted = models.JSONField(default=dict)
    fingerprint = models.CharField(max_length=128, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    digest = models.CharField(max_length=64, blank=True, db_default="")
    size_bytes = models.BigIntegerField()
    received_bytes = models.BigIntegerField(default=0)
    version = models.ForeignKey(Version, on_delete=models.SET_NULL, null=True, related_name="uploads")
    error = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(db_index=True)
    lease_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="upload_received_within_size",
                condition=Q(received_bytes__gte=0) & Q(received_bytes__lte=models.F("size_bytes")),
            )
        ]

    def __str__(self) -> str:
        return f"upload {self.key[:8]}"


class Alias(models.Model):
    """A movable name for a version, such as `champion`."""

    model = models.ForeignKey(Model, on_delete=models.CASCADE, related_name="aliases")
    name = models.CharField(max_length=128)
    version = models.ForeignKey(Version, on_delete=models.PROTECT, related_name="aliases")
    changed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["model", "name"], name="one_alias_per_name")]

    def __str__(self) -> str:
        return f"{self.model}@{self.name}"


class Sample(models.Model):
    """Named input tensors; with expected outputs it is a golden one.

    `inputs` and `outputs` are lists of {name, datatype, shape, data}; an output may carry how it is compared.
    `capture` tells of outputs that are, or were, taken from a live version: {environment, tolerances}, then
    {version, server, at} or {error}. `capture_due_at` is when a worker should look, None when none needs to.
    """

    model = models.ForeignKey(Model, on_delete=models.CASCADE, related_name="samples")
    name = models.CharField(max_length=128)
    inputs = models.JSONField()
    outputs = models.JSONField(default=list)
    capture = models.JSONField(default=dict)
    capture_due_at = models.DateTimeField(null=True, db_index=True)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["model", "name"], name="one_sample_per_name")]

    def __str__(self) -> str:
        return f"{self.model} sample {self.name}"

    @property
    def is_golden(self) -> bool:
        """Whether answers are known."""
        return bool(self.outputs)
