"""Preflight: a version held against every server it would go to, from what is already known. Nothing is asked."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from apps.common.text import whole_number
from apps.deployments.models import Placement
from apps.deployments.selectors.published import INLINE, published
from apps.fleet import selectors as fleet
from apps.fleet.models import ObservedVersion, Repository, Server
from apps.registry.inspection import Manifest, shared_otherwise, subject_of
from apps.registry.models import Version
from apps.serving import backends
from apps.serving.preflight import Finding, LiveMember, ServerFacts, Severity

GIB = 2**30
# An older reading of a repository's room says nothing: a run reads it again before it publishes.
ROOM_IS_KNOWN_FOR = timedelta(minutes=10)
READY, UNAVAILABLE = "READY", "UNAVAILABLE"
# Labels by which somebody says what a server does not tell.
BACKENDS, GPUS, MEMORY_GIB = "backends", "gpus", "memory_gib"


@dataclass(frozen=True, slots=True)
class Report:
    """What the rules say of one version for one environment: of itself, then per server."""

    version: Version
    environment: str
    servers: tuple[str, ...]
    findings: tuple[Finding, ...]

    def of(self, *severities: Severity) -> tuple[Finding, ...]:
        """The findings of these severities."""
        return tuple(finding for finding in self.findings if finding.severity in severities)


def report(
    version: Version,
    environment: str,
    servers: Sequence[Server] | None = None,
    *,
    coming: Mapping[str, int] | None = None,
) -> Report:
    """The version on each server of the environment that takes rollouts, or on `servers`.

    `coming` are the models and versions that go live together with it: to an ensemble they are there.
    """
    chosen = list(fleet.servers_for_rollouts(environment)) if servers is None else list(servers)
    config_format = backends.get("triton").CONFIG
    config = _as_configured(version, environment)
    members = None
    if version.config.get("ensemble_scheduling"):
        members = {**_members(version, environment), **_coming(version, environment, coming or {})}
    files = version.artifact.files if version.artifact else None
    shared = shared_otherwise(files or (), _placed_files(version, environment))
    subject = subject_of(version.model.name, config, files, version.inspection, members=members, shared=shared)
    backend = config_format.backend_of(config, subject.files or {})
    findings = config_format.examine_on(subject, server_facts(version, chosen, backend=backend))
    return Report(version, environment, tuple(server.name for server in chosen), findings)


def _as_configured(version: Version, environment: str) -> Mapping[str, Any]:
    """The version's configuration as the environment overlays it."""
    placed = Placement.objects.select_related("overlay").filter(
        model=version.model_id, environment__name=environment, overlay__isnull=False
    )
    overlay = next((placement.overlay for placement in placed if placement.overlay), None)
    return backends.get("triton").CONFIG.merge(version.config, overlay.document) if overlay else version.config


def server_facts(version: Version, servers: Sequence[Server], *, backend: str) -> list[ServerFacts]:
    """What is known of each server: what it told, what somebody said of it, whether it serves with that backend."""
    seen, missing = _serving_with(backend, servers), _missing_backends(servers)
    lacking = _lacking(version, servers)
    return [
        ServerFacts(
            name=server.name,
            version=str(getattr(getattr(server, "observation", None), "server_version", "")),
            backends=_words(server.labels.get(BACKENDS)),
            seen=frozenset({backend} if server.pk in seen else ()),
            missing=frozenset(missing[server.pk]),
            gpus=_whole(server.labels.get(GPUS)),
            memory_bytes=_bytes(server.labels.get(MEMORY_GIB)),
            publishes=server.repository_id in lacking,
            free_disk_bytes=_free_bytes(server.repository),
        )
        for server in servers
    ]


def _lacking(version: Version, servers: Sequence[Server]) -> set[int]:
    """The repositories that the version is still to be published in; what load calls bring is written nowhere."""
    homes = {server.repository_id for server in servers if server.repository.kind != INLINE}
    return homes - {one.repository_id for one in published([version.pk])}


def _free_bytes(repository: Repository) -> int | None:
    """Its room as last read, where that was lately."""
    since = timezone.now() - ROOM_IS_KNOWN_FOR
    is_known = repository.free_at is not None and repository.free_at >= since
    return repository.free_bytes if is_known else None


def _serving_with(backend: str, servers: Sequence[Server]) -> set[int]:
    """The servers on which some version with that backend is ready now; of each, the first one found is enough."""
    config_format = backends.get("triton").CONFIG
    # The row keeps a backend, or the platform that stands for one.
    words = Version.objects.order_by().values_list("backend", flat=True).distinct()
    same = [word for word in words if (config_format.backend_of({"platform": word}, ()) or word) == backend]
    made = Version.objects.filter(
        model__name=OuterRef("model"), number=OuterRef("version"), artifact__isnull=False, backend__in=same
    )
    ready = ObservedVersion.objects.filter(Exists(made), server=OuterRef("pk"), state=READY)
    return set(Server.objects.filter(Exists(ready), pk__in=[one.pk for one in servers]).values_list("pk", flat=True))


def _missing_backends(servers: Sequence[Server]) -> Mapping[int, set[str]]:
    """The backends that a failed load on each server named as missing."""
    failed = ObservedVersion.objects.filter(server__in=servers, state=UNAVAILABLE).exclude(reason__in=("", "unloaded"))
    config_format = backends.get("triton").CONFIG
    found: dict[int, set[str]] = defaultdict(set)
    for server, reason in failed.values_list("server", "reason"):
        found[server].update(filter(None, [config_format.missing_backend(reason)]))
    return found


def _placed_files(version: Version, environment: str) -> dict[int, Manifest]:
    """What the model's other versions that are placed there are made of, by number."""
    placed = Placement.objects.filter(environment__name=environment, model=version.model_id)
    is_placed = Q(pk__in=placed.values("active")) | Q(pk__in=placed.values("standby"))
    others = Version.objects.filter(is_placed, artifact__isnull=False).exclude(pk=version.pk)
    return dict(others.values_list("number", "artifact__files"))


def _members(version: Version, environment: str) -> dict[str, LiveMember]:
    """The models that the ensemble calls, and those that they call, as they are in the environment."""
    members: dict[str, LiveMember] = {}
    names = {str(step.get("model_name", "")) for step in version.config["ensemble_scheduling"].get("step", ())}
    while names:
        found = _live(names, environment)
        members |= found
        names = {name for member in found.values() for name in member.calls} - members.keys()
    return members


def _live(names: Collection[str], environment: str) -> dict[str, LiveMember]:
    """The models of these names as they are placed in the environment or seen ready there."""
    placed = Placement.objects.select_related("model", "active", "standby").filter(
        Q(active__isnull=False), environment__name=environment, model__name__in=names
    )
    numbers: dict[str, set[int]] = defaultdict(set)
    ready = fleet.observed(environment=environment).filter(model__in=names, state=READY)
    for model, number in ready.values_list("model", "version"):
        numbers[model].add(number)
    members = {name: LiveMember({}, frozenset(loaded)) for name, loaded in numbers.items()}
    for placement in placed:
        live = {one.number for one in (placement.active, placement.standby) if one}
        config = placement.active.config if placement.active else {}
        members[placement.model.name] = LiveMember(config, frozenset(live | numbers[placement.model.name]))
    return members


def _coming(version: Version, environment: str, coming: Mapping[str, int]) -> dict[str, LiveMember]:
    """Of those that go live together with it the models that the ensemble calls, as they are going to be."""
    wanted = Q(pk=None)
    for step in version.config["ensemble_scheduling"].get("step", ()):
        name = str(step.get("model_name", ""))
        if name in coming:
            wanted |= Q(model__name=name, number=coming[name])
    found = Version.objects.filter(wanted).select_related("model")
    return {one.model.name: LiveMember(_as_configured(one, environment), frozenset({one.number})) for one in found}


def _words(label: str | None) -> frozenset[str] | None:
    return None if label is None else frozenset(label.replace(",", " ").split())


def _whole(label: str | None) -> int | None:
    return None if label is None else whole_number(label)


def _bytes(label: str | None) -> int | None:
    try:
        return None if label is None else int(float(label) * GIB)
    except (ValueError, OverflowError):
        return None
