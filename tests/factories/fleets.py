"""A whole fleet as rows, in any size: what pages and lists are tested on. No server stands behind it."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.deployments.models import Placement, Rollout, Run, StepRun
from apps.fleet.models import Environment, Observation, ObservedVersion, Repository, Server
from apps.registry.models import Alias, Artifact, Model, Sample, Version

CONFIG = """\
name: "digits"
backend: "python"
max_batch_size: 16
input [ { name: "pixels" data_type: TYPE_FP32 dims: [ 64 ] } ]
output [ { name: "label" data_type: TYPE_INT64 dims: [ 1 ] } ]
dynamic_batching { }
"""
SIGNATURE = {
    "inputs": [{"name": "pixels", "datatype": "FP32", "shape": [64]}],
    "outputs": [{"name": "label", "datatype": "INT64", "shape": [1]}],
    "max_batch_size": 16,
}
TRACEBACK = (
    "load failed for model 'digits': version 5 is at UNAVAILABLE state: Internal: FileNotFoundError\n"
    + "\n".join(
        f'  File "/srv/models/digits/5/model.py", line {line}, in initialize <script>alert({line})</script>'
        for line in range(60)
    )
)
STEPS = ("preflight", "publish", "shadow", "load", "await_ready", "verify", "expose")

SAID: dict[str, dict[str, Any]] = {
    "preflight": {"free_bytes": 41_000_000_000, "loaded": [1]},
    "publish": {"was_there": False, "copied_bytes": 45_678},
    "shadow": {"golden": 5, "latencies_us": [52_000, 3_100, 2_900], "warmup": [], "remark": ""},
    "load": {"versions": [1, 2], "beside": True, "warm_up_requests": 1},
    "verify": {"golden": 5, "latencies_us": [3_000, 2_900]},
    "expose": {"versions": [1, 2], "loads": 0},
}
FAILED = {
    "code": "shadow_failed",
    "title": "The version failed aside",
    "message": TRACEBACK.splitlines()[0],
    "hint": "Read what the model said.",
    "reason": TRACEBACK,
}


@dataclass
class FleetRows:
    """What was made, by name."""

    environments: dict[str, Environment] = field(default_factory=dict)
    servers: dict[str, Server] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    versions: dict[tuple[str, int], Version] = field(default_factory=dict)
    placements: dict[tuple[str, str], Placement] = field(default_factory=dict)

    def environment(self, name: str, *, rank: int = 0) -> Environment:
        """An environment with one repository."""
        made = Environment.objects.create(name=name, rank=rank)
        room = {"free_bytes": 100 << 30, "free_at": timezone.now()}
        Repository.objects.create(name=f"{name}-models", environment=made, path=f"/srv/models/{name}", **room)
        self.environments[name] = made
        return made

    def server(self, name: str, environment: str, *, is_reachable: bool = True, **fields: Any) -> Server:
        """A server that answered a second ago, or does not."""
        home = self.environments[environment]
        number = len(self.servers) + 1
        fields = {
            "state": "active",
            "grpc": f"10.0.0.{number}:8001",
            "metrics": f"http://10.0.0.{number}:8002/metrics",
        } | fields
        made = Server.objects.create(name=name, environment=home, repository=home.repositories.get(), **fields)
        now = timezone.now()
        if made.state == "active":
            Observation.objects.create(
                server=made,
                at=now,
                seen_at=now - timedelta(seconds=1 if is_reachable else 300),
                since=now - timedelta(hours=2),
                is_reachable=is_reachable,
                is_ready=is_reachable,
                code="" if is_reachable else "server_unreachable",
                reason="" if is_reachable else f"{name}: failed to connect to all addresses",
                server_version="2.51.0",
                extensions=["model_repository", "statistics"],
            )
        self.servers[name] = made
        return made

    def model(self, name: str, **fields: Any) -> Model:
        """A model with a promise, an alias-free name."""
        fields = {"owner": "vision", "slo_p99_ms": 60.0, "slo_error_ratio": 0.005, "tags": ["images"]} | fields
        made = Model.objects.create(name=name, **fields)
        self.models[name] = made
        return made

    def version(self, model: str, number: int, *, state: str = "ready", **fields: Any) -> Version:
        """A version with bytes of its own."""
        digest = f"{abs(hash((model, number))):064x}"[:64]
        artifact = None
        if state == "ready":
            files = [
                {"path": f"version/{name}", "size_bytes": 4_321, "sha256": digest}
                for name in ("model.py", "weights.npz")
            ]
            artifact, _ = Artifact.objects.get_or_create(
                digest=digest, defaults={"size_bytes": 12_345, "unpacked_bytes": 45_678, "files": files}
            )
        ready = {"config_text": CONFIG, "signature": SIGNATURE, "backend": "python", "ready_at": timezone.now()}
        fields = (
            {
                "digest": digest,
                "size_bytes": 12_345,
                "filename": f"{model}-{number}.zip",
                "created_by": "ci-main",
                "git_commit": "3f2c1d9a8b7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a",
            }
            | (ready if state == "ready" else {})
            | fields
        )
        made = Version.objects.create(model=self.models[model], number=number, state=state, artifact=artifact, **fields)
        self.versions[model, number] = made
        return made

    def placed(self, model: str, environment: str, active: int | None, standby: int | None = None) -> Placement:
        """Desired state, and every reachable server of the environment agreeing with it."""
        made = Placement.objects.create(
            model=self.models[model],
            environment=self.environments[environment],
            active=self.versions[model, active] if active else None,
            standby=self.versions[model, standby] if standby else None,
            standby_until=timezone.now() + timedelta(minutes=20) if standby else None,
            since=timezone.now() - timedelta(hours=3),
        )
        ObservedVersion.objects.bulk_create(
            ObservedVersion(
                server=server,
                model=model,
                version=number,
                state="READY",
                since=timezone.now() - timedelta(minutes=5),
                loaded_stamp_ns=1,
                seen_stamp_ns=1,
            )
            for server in self.servers.values()
            if server.environment_id == made.environment_id and server.state == "active"
            for number in filter(None, (active, standby))
        )
        self.placements[model, environment] = made
        return made

    def observed(
        self, server: str, model: str, version: int, *, state: str = "READY", reason: str = ""
    ) -> ObservedVersion:
        """One line of a server's index."""
        made, _ = ObservedVersion.objects.update_or_create(
            server=self.servers[server],
            model=model,
            version=version,
            defaults={
                "state": state,
                "reason": reason,
                "since": timezone.now() - timedelta(minutes=5),
                "loaded_stamp_ns": 1,
                "seen_stamp_ns": 1,
            },
        )
        return made

    def rollout(
        self,
        model: str,
        environment: str,
        old: int | None,
        new: int | None,
        *,
        kind: str = "promote",
        state: str = "succeeded",
        **fields: Any,
    ) -> Rollout:
        """A rollout with a run per server, each as far as the rollout's state says."""
        now = timezone.now()
        ended = {"finished_at": now} if state in ("succeeded", "failed", "rolled_back") else {}
        servers = [s for s in self.servers.values() if s.environment.name == environment and s.state == "active"]
        fields = {"reason": "held-out accuracy is better", "actor": "alice", "actor_kind": "user"} | ended | fields
        made = Rollout.objects.create(
            placement=self.placements[model, environment],
            kind=kind,
            state=state,
            from_version=self.versions[model, old] if old else None,
            to_version=self.versions[model, new] if new else None,
            plan={"hot": [], "servers": [server.name for server in servers], "confirmed": []},
            created_at=now - timedelta(seconds=40),
            started_at=now - timedelta(seconds=39),
            **fields,
        )
        runs = Run.objects.bulk_create(_run(made, server, position) for position, server in enumerate(servers))
        StepRun.objects.bulk_create(step for run in runs for step in _steps(run))
        return made


def _run(rollout: Rollout, server: Server, position: int) -> Run:
    """One server's share: of a moving or failed rollout the first server's is under way or failed."""
    now = timezone.now()
    first = {"running": "running", "failed": "failed", "rolled_back": "failed"}.get(rollout.state)
    others = {"succeeded": "succeeded", "running": "queued", "queued": "queued"}.get(rollout.state, "cancelled")
    state = first if first and position == 0 else others
    return Run(
        rollout=rollout,
        server=server,
        model=rollout.placement.model,
        position=position,
        state=state,
        recipe=list(STEPS),
        started_at=None if state in ("queued", "cancelled") else now - timedelta(seconds=30),
        finished_at=now if state in ("succeeded", "failed") else None,
        waiting_for=f"{server.name}: {rollout.placement.model} is loading" if state == "running" else "",
    )


def _steps(run: Run) -> list[StepRun]:
    """The steps a run has come to; the last one is as the run is."""
    reached = STEPS[: {"succeeded": 7, "failed": 3, "running": 4}.get(run.state, 0)]
    return [
        _step(run, name, at, run.state if at == len(reached) - 1 else "succeeded") for at, name in enumerate(reached)
    ]


def _step(run: Run, name: str, position: int, state: str) -> StepRun:
    now = timezone.now()
    return StepRun(
        run=run,
        name=name,
        position=position,
        state=state,
        calls=1,
        detail={} if state == "failed" else SAID.get(name, {}),
        error=FAILED if state == "failed" else {},
        started_at=now - timedelta(seconds=20 - position),
        finished_at=None if state == "running" else now - timedelta(seconds=19.2 - position),
    )


def small_fleet() -> FleetRows:
    """Two environments, three servers, two models: one healthy, one with everything that can be shown."""
    rows = FleetRows()
    rows.environment("staging", rank=1)
    rows.environment("prod", rank=2)
    for name, environment in (("staging-1", "staging"), ("prod-1", "prod"), ("prod-2", "prod")):
        rows.server(name, environment)
    rows.model("digits", description="Handwritten digits, 8x8.")
    for number in (1, 2):
        rows.version("digits", number)
    rows.version(
        "digits",
        3,
        state="rejected",
        error={
            "code": "no_model_file",
            "title": "model.py is missing",
            "message": "digits-3.zip: the python backend needs 1/model.py",
            "hint": "Put model.py into the version directory.",
        },
    )
    Alias.objects.create(model=rows.models["digits"], name="champion", version=rows.versions["digits", 2])
    pixels = {"name": "pixels", "datatype": "FP32", "shape": [1, 64], "data": [0] * 64}
    label = {"name": "label", "datatype": "INT64", "shape": [1, 1], "data": [7]}
    Sample.objects.create(model=rows.models["digits"], name="seven", inputs=[pixels], outputs=[label])
    rows.placed("digits", "staging", 2, 1)
    rows.placed("digits", "prod", 1)
    rows.rollout("digits", "staging", None, 1)
    rows.rollout("digits", "staging", 1, 2)
    rows.rollout("digits", "prod", None, 1)
    return rows
