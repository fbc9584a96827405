"""Environments, repositories, servers, and what was last seen on them."""

from collections.abc import Mapping
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.fleet.ordering import NaturalKey
from apps.fleet.states import SERVER_MOVES, ServerState


class Environment(models.Model):
    """`dev`, `staging`, `prod`: rank is from left to right. How promotions go there is its policy's matter."""

    name = models.CharField(max_length=128, unique=True)
    rank = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class Repository(models.Model):
    """Where servers of one environment take their models from; `path` is a directory as this machine sees it, or a URL.

    `settings` is what its kind needs besides, such as an endpoint; never a secret. `free_bytes` is the room that was
    left at `free_at`, when its servers were observed; None where its kind does not tell.
    """

    name = models.CharField(max_length=128, unique=True)
    environment = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="repositories")
    kind = models.CharField(max_length=16, default="posix")
    path = models.CharField(max_length=1_024, unique=True)
    settings = models.JSONField(default=dict)
    free_bytes = models.BigIntegerField(null=True)
    free_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class Server(models.Model):
    """One inference server: its addresses, environment, repository and control key.

    `sealed_control_value` is encrypted at rest. `finding` is what the server said when it was added,
    or what was wrong: {code, message, hint, ...}.
    """

    MOVES: ClassVar[Mapping[str, frozenset[str]]] = SERVER_MOVES

    name = models.CharField(max_length=128, unique=True)
    sorts_as = NaturalKey()
    kind = models.CharField(max_length=32, default="triton")
    environment = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="servers")
    repository = models.ForeignKey(Repository, on_delete=models.PROTECT, related_name="servers")
    grpc = models.CharField(max_length=255)
    http = models.CharField(max_length=255, blank=True)
    metrics = models.CharField(max_length=255, blank=True)
    control_key = models.CharField(max_length=128, blank=True)
    sealed_control_value = models.TextField(blank=True)
    labels = models.JSONField(default=dict)
    state = models.CharField(max_length=16, default=ServerState.CHECKING)
    finding = models.JSONField(default=dict)
    lease_until = models.DateTimeField(null=True)
    cordoned_at = models.DateTimeField(null=True)
    cordon_reason = models.TextField(blank=True)
    reconcile_asked_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["grpc"], condition=~Q(state=ServerState.RETIRED), name="one_server_per_address"
            )
        ]

    def __str__(self) -> str:
        return self.name


class Observation(models.Model):
    """What a server last said, and when. One row per server, written only when something changed or time passed.

    `at` is the last attempt, `seen_at` the last answer, `since` when `is_reachable` last changed.
    `counters` are what each loaded version has answered, as `restarts` compares them, and `asked` when that was last
    seen to have grown; `restarted_at` is when they last told that the server's process is another one.
    """

    server = models.OneToOneField(Server, on_delete=models.CASCADE, related_name="observation")
    at = models.DateTimeField()
    seen_at = models.DateTimeField(null=True)
    since = models.DateTimeField()
    is_reachable = models.BooleanField(default=False)
    is_ready = models.BooleanField(null=True)
    code = models.CharField(max_length=64, blank=True)
    reason = models.TextField(blank=True)
    server_version = models.CharField(max_length=64, blank=True)
    extensions = models.JSONField(default=list)
    counters = models.JSONField(default=dict)
    asked = models.JSONField(default=dict)
    restarted_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.server} at {self.at:%H:%M:%S}"


class ObservedVersion(models.Model):
    """One version in a server's index; `version` 0 stands for a model that was never loaded.

    `loaded_stamp_ns` is the newest time stamp under the version's directory when Conch last loaded it,
    `seen_stamp_ns` the newest one now: while they agree, a load that names it restarts nothing.
    `loaded_at` is when Conch last loaded it, `restarted_at` when it was seen to have started without Conch since.
    `loaded_under` is the digest of the overlay it was loaded under; empty where that is not known.
    """

    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="versions")
    model = models.CharField(max_length=255)
    version = models.BigIntegerField()
    state = models.CharField(max_length=16)
    reason = models.TextField(blank=True)
    since = models.DateTimeField()
    loaded_stamp_ns = models.BigIntegerField(null=True)
    seen_stamp_ns = models.BigIntegerField(null=True)
    loaded_at = models.DateTimeField(null=True)
    loaded_under = models.CharField(max_length=64, blank=True, default="")
    restarted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["server", "model", "version"], name="one_row_per_observed_version")
        ]
        indexes = [models.Index(fields=["model", "version"], name="observed_model")]

    def __str__(self) -> str:
        return f"{self.server}: {self.model} {self.version} {self.state}"


class Part(models.Model):
    """One of Conch's own parts (database, broker, worker, beat, Prometheus) as it last found itself."""

    name = models.CharField(max_length=32, unique=True)
    is_well = models.BooleanField()
    message = models.TextField(blank=True)
    at = models.DateTimeField()
    since = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
