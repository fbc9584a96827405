"""Environments, repositories, servers and Conch's own parts over the wire."""

from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from apps.api.shapes.common import Asked, LinkField, Shape
from apps.deployments.selectors import policy_in
from apps.serving import backends

SERVER_STATES = ("checking", "active", "refused", "retired")
DRIFT_KINDS = (
    "missing",
    "wrong_set",
    "failed",
    "loading",
    "stuck",
    "restarted",
    "wrong_config",
    "extra",
    "unreachable",
)


class EnvironmentShape(Shape):
    """An environment: its place from left to right, and its policy."""

    name = serializers.CharField()
    rank = serializers.IntegerField()
    standby_window_s = serializers.SerializerMethodField()
    progress_deadline_s = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()

    def get_standby_window_s(self, row: Any) -> int:
        """How long an old version stays loaded after a switch; a setting of the policy."""
        return policy_in(row).standby_window_s

    def get_progress_deadline_s(self, row: Any) -> int:
        """How long a run may stand still; a setting of the policy."""
        return policy_in(row).progress_deadline_s


class EnvironmentChange(Asked):
    """What may be changed of an environment."""

    rank = serializers.IntegerField(required=False, min_value=0, max_value=32_767)
    standby_window_s = serializers.IntegerField(required=False, min_value=0, max_value=2_147_483_647)
    progress_deadline_s = serializers.IntegerField(required=False, min_value=1, max_value=2_147_483_647)


class EnvironmentAddition(EnvironmentChange):
    """A new environment."""

    name = serializers.CharField(max_length=300)


class RepositoryShape(Shape):
    """Where the servers of one environment read their models from."""

    name = serializers.CharField()
    kind = serializers.CharField()
    path = serializers.CharField()
    settings = serializers.DictField(help_text="Of s3: endpoint_url and region, where they are its own.")
    environment = serializers.CharField(source="environment.name")
    free_bytes = serializers.IntegerField(
        allow_null=True,
        help_text="Room left when it was last read, at `free_at`; null: not known, a bucket never tells.",
    )
    free_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class RepositoryAddition(Asked):
    """A new repository: a directory that workers and servers share, or none where load calls bring the files."""

    name = serializers.CharField(max_length=300)
    environment = serializers.CharField(max_length=300)
    path = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=1_024,
        help_text="posix: the absolute path. s3: s3://bucket/prefix. inline: none.",
    )
    kind = serializers.CharField(required=False, max_length=16, help_text="posix (the default), s3 or inline")
    endpoint_url = serializers.CharField(required=False, allow_blank=True, max_length=300, help_text="s3 alone")
    region = serializers.CharField(required=False, allow_blank=True, max_length=64, help_text="s3 alone")


class ObservationShape(Shape):
    """What a server last said, and when."""

    at = serializers.DateTimeField()
    seen_at = serializers.DateTimeField(allow_null=True)
    since = serializers.DateTimeField()
    is_reachable = serializers.BooleanField()
    is_ready = serializers.BooleanField(allow_null=True)
    code = serializers.CharField()
    reason = serializers.CharField()
    server_version = serializers.CharField()
    extensions = serializers.ListField()


class ServerShape(Shape):
    """A server. `finding` is what it said when it was added, or what was wrong; its control value is never shown."""

    name = serializers.CharField()
    kind = serializers.CharField()
    environment = serializers.CharField(source="environment.name")
    repository = serializers.CharField(source="repository.name")
    grpc = serializers.CharField()
    http = serializers.CharField()
    metrics = serializers.CharField()
    control_key = serializers.CharField()
    labels = serializers.DictField()
    state = serializers.ChoiceField(choices=SERVER_STATES)
    finding = serializers.DictField()
    cordoned_at = serializers.DateTimeField(allow_null=True)
    cordon_reason = serializers.CharField()
    observation = ObservationShape(allow_null=True, help_text="Null until the server was observed.")
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()
    url = LinkField("server", name="name")


class ObservedVersionShape(Shape):
    """One version in a server's index."""

    model = serializers.CharField()
    version = serializers.IntegerField()
    state = serializers.CharField()
    reason = serializers.CharField(help_text="The server's own words.")
    explanation = serializers.SerializerMethodField(
        help_text="What they mean: {cause, meaning, hint}; null where they are of no known kind."
    )
    since = serializers.DateTimeField()

    def get_explanation(self, row: Any) -> dict[str, str] | None:
        """The cause of a failed load, in plain words, and the way out."""
        found = (
            backends.get(row.server.kind).CONFIG.explain(row.reason) if row.reason and row.state != "READY" else None
        )
        return asdict(found) if found else None


class DriftShape(Shape):
    """One difference between what should be loaded and what is."""

    model = serializers.CharField(source="difference.model")
    version = serializers.IntegerField(source="difference.version")
    kind = serializers.ChoiceField(source="difference.kind", choices=DRIFT_KINDS)
    reason = serializers.CharField(source="difference.reason")
    since = serializers.DateTimeField(allow_null=True, help_text="Null for what is passing: a load that is under way.")
    why_not = serializers.CharField(help_text="Why nothing is done about it; empty while it is being mended.")
    next_try_at = serializers.DateTimeField(allow_null=True)


class KeptDriftShape(Shape):
    """A difference as it was kept, from when it was seen until it was gone."""

    server = serializers.CharField(source="server.name")
    environment = serializers.CharField(source="server.environment.name")
    model = serializers.CharField(help_text="Empty for the server as a whole.")
    version = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=DRIFT_KINDS)
    reason = serializers.CharField()
    since = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    why_not = serializers.CharField()
    next_try_at = serializers.DateTimeField(allow_null=True)


class DriftFilter(Shape):
    """Of which environment or server, and whether it is over."""

    environment = serializers.CharField(required=False, default="", allow_blank=True)
    server = serializers.CharField(required=False, default="", allow_blank=True)
    ended = serializers.BooleanField(required=False, default=False, help_text="Also what is over.")


class InServiceShape(Shape):
    """Whether clients may be sent to a server."""

    server = serializers.CharField()
    in_service = serializers.BooleanField()
    reasons = serializers.ListField(child=serializers.CharField())
    seen_at = serializers.DateTimeField(allow_null=True)
    is_stale = serializers.BooleanField(help_text="Conch has not asked lately: this is the last it knew.")


class ServerChange(Asked):
    """What may be changed of a server."""

    http = serializers.CharField(required=False, allow_blank=True, max_length=255, help_text="host:port")
    metrics = serializers.CharField(
        required=False, allow_blank=True, max_length=255, help_text="host:port or http://host:port/path"
    )
    control_key = serializers.CharField(
        required=False, allow_blank=True, max_length=128, help_text="Header of the restricted control API."
    )
    control_value = serializers.CharField(
        required=False, allow_blank=True, max_length=1_024, write_only=True, trim_whitespace=False
    )
    labels = serializers.DictField(required=False, child=serializers.CharField(max_length=256, allow_blank=True))


class ServerAddition(ServerChange):
    """A new server; it is asked who it is before it is taken."""

    name = serializers.CharField(max_length=300)
    environment = serializers.CharField(max_length=300)
    repository = serializers.CharField(max_length=300)
    grpc = serializers.CharField(max_length=255, help_text="host:port")
    kind = serializers.CharField(required=False, max_length=32, help_text="triton")


class ServerFilter(Shape):
    """Which servers."""

    environment = serializers.CharField(required=False, default="", allow_blank=True)
    state = serializers.ChoiceField(choices=SERVER_STATES, required=False, default="", allow_blank=True)


class EnvironmentFilter(Shape):
    """Of which environment."""

    environment = serializers.CharField(required=False, default="", allow_blank=True)


class PartShape(Shape):
    """One of Conch's own parts as it last found itself."""

    name = serializers.CharField()
    is_well = serializers.BooleanField()
    message = serializers.CharField()
    at = serializers.DateTimeField(allow_null=True)
    since = serializers.DateTimeField(allow_null=True)


class HealthShape(Shape):
    """Conch's own parts. `is_well` is true when every part is, and told so lately."""

    is_well = serializers.BooleanField()
    parts = PartShape(many=True)


class TargetGroupShape(Shape):
    """One entry of Prometheus' HTTP service discovery."""

    targets = serializers.ListField(child=serializers.CharField())
    labels = serializers.DictField(child=serializers.CharField())
