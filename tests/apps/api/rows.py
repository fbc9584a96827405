"""Rows that lists and rollouts need, made quickly."""

import hashlib
from datetime import datetime

from django.contrib.auth.models import User
from django.utils import timezone

from apps.access.models import Grant
from apps.deployments.models import Ban, Placement, PlacementChange, Probe, Release, Rollout, Run, StepRun
from apps.deployments.plan import config_digest
from apps.deployments.policy import Policy
from apps.deployments.states import RolloutState, RunState, StepState
from apps.fleet.models import Environment, Observation, ObservedVersion, Repository, Server
from apps.fleet.states import ServerState
from apps.registry.models import Alias, Artifact, Model, Sample, Version
from apps.registry.states import VersionState

SIGNATURE = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [4]}], "outputs": [], "max_batch_size": 8}


def environment(name: str = "prod", rank: int = 1) -> Environment:
    found, _ = Environment.objects.get_or_create(name=name, defaults={"rank": rank})
    Repository.objects.get_or_create(name=name, defaults={"environment": found, "path": f"/models/{name}"})
    return found


def server(name: str, *, where: str = "prod", state: str = ServerState.ACTIVE, metrics: str = "") -> Server:
    home = environment(where)
    port = 20_000 + Server.objects.count()
    made = Server.objects.create(
        name=name,
        environment=home,
        repository=Repository.objects.get(name=where),
        grpc=f"127.0.0.1:{port}",
        metrics=metrics,
        state=state,
    )
    now = timezone.now()
    Observation.objects.create(server=made, at=now, seen_at=now, since=now, is_reachable=True, is_ready=True)
    return made


def model(name: str = "digits") -> Model:
    return Model.objects.get_or_create(name=name)[0]


def version(number: int, *, of: str = "digits", state: str = VersionState.READY) -> Version:
    digest = hashlib.sha256(f"{of} {number}".encode()).hexdigest()
    artifact = Artifact.objects.create(
        digest=digest,
        size_bytes=3,
        unpacked_bytes=3,
        files=[{"path": path, "size_bytes": 3, "sha256": digest} for path in ("config.pbtxt", "version/model.py")],
    )
    return Version.objects.create(
        model=model(of),
        number=number,
        state=state,
        artifact=artifact,
        digest=digest,
        size_bytes=3,
        signature=SIGNATURE,
        config={"name": of},
        config_text=f'name: "{of}"',
    )


def placement(of: str = "digits", *, where: str = "prod", active: Version | None = None) -> Placement:
    return Placement.objects.create(environment=environment(where), model=model(of), active=active)


def rollout(where: Placement, *, to: Version, state: str = RolloutState.SUCCEEDED, servers: int = 1) -> Rollout:
    now = timezone.now()
    made = Rollout.objects.create(
        placement=where,
        kind="promote",
        state=state,
        to_version=to,
        actor="alice",
        actor_kind="user",
        started_at=now,
        policy=Policy().document(),
    )
    for position in range(servers):
        run = Run.objects.create(
            rollout=made,
            server=server(f"r{made.pk}-{position}", where=where.environment.name),
            model=where.model,
            position=position,
            state=RunState.SUCCEEDED,
            recipe=["load"],
        )
        StepRun.objects.create(run=run, name="load", position=0, state=StepState.SUCCEEDED, started_at=now)
    return made


def ban(where: Placement, banned: Version) -> Ban:
    return Ban.objects.create(
        placement=where,
        version=banned,
        artifact_digest=banned.digest,
        config_digest=config_digest(banned.config),
        reason="wrong labels",
        actor="alice",
        actor_kind="user",
    )


def changed(by: Rollout, *, at: datetime | None = None) -> PlacementChange:
    return PlacementChange.objects.create(
        placement=by.placement,
        at=at or timezone.now(),
        what="done",
        active=by.to_version,
        rollout=by,
        actor=by.actor,
        actor_kind=by.actor_kind,
        reason=by.reason,
    )


def fill(count: int) -> None:
    """`count` rows of everything that is listed."""
    home = environment()
    for position in range(count):
        name = f"m{position}"
        one = version(1, of=name)
        Alias.objects.create(model=one.model, name="champion", version=one)
        placed = placement(name, active=one)
        version(position + 10, of="digits")
        Sample.objects.create(model=model("digits"), name=f"s{position}", inputs=[])
        listed = server(f"t{position}", metrics=f"127.0.0.1:{30_000 + position}")
        ObservedVersion.objects.create(server=listed, model=name, version=1, state="READY", since=timezone.now())
        moved = rollout(placed, to=one)
        changed(moved)
        moved.release = Release.objects.create(environment=home, actor="alice", actor_kind="user")
        moved.save(update_fields=["release"])
        ban(placed, one)
        Probe.objects.create(placement=placed, server=listed, version=1, kind="warmup", has_passed=True)
        person = User.objects.create(username=f"u{position}")
        Grant.objects.create(user=person, role="viewer")
        Environment.objects.create(name=f"e{position}", rank=position)
        Repository.objects.create(name=f"r{position}", environment=home, path=f"/r{position}")
