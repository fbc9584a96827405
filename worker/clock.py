"""What happens because time passes."""

from datetime import datetime
from pathlib import Path
from typing import Any

from apps.access import idempotency
from apps.common.dispatch import wake
from apps.common.errors import ControlPlaneError
from apps.common.text import SHOWN_CHARS, printable
from apps.deployments import selectors as deployments
from apps.deployments import services
from apps.fleet import repositories
from apps.fleet import selectors as fleet
from apps.fleet import services as fleet_services
from apps.registry import samples
from apps.registry import selectors as registry
from apps.registry import services as registry_services
from apps.serving import backends

SHARD = 50
WARM_TIMEOUT_S = 10.0


def observe_fleet() -> None:
    """One message per shard of servers, whatever the size of the fleet."""
    ids = list(fleet.servers(state="active").order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(ids), SHARD):
        wake("conch.observe_servers", server_ids=ids[start : start + SHARD])


def sweep(now: datetime) -> None:
    """Wake what is due and nobody holds: a lost message or a killed worker costs time, never the work."""
    for rollout_id in deployments.due_rollouts(now):
        wake("conch.advance_rollout", rollout_id=rollout_id)
    for run_id in deployments.due_runs(now):
        wake("conch.advance_run", run_id=run_id)
    for version_id in registry_services.sweep_versions(now):
        wake("conch.check_version", version_id=version_id)
    for server_id in fleet_services.sweep_servers(now):
        wake("conch.introduce_server", server_id=server_id)
    for placement in deployments.expired_standbys(now):
        services.retire_standby(placement)


def warm_due(now: datetime) -> None:
    """Send one real request per server of each placement that is due, and keep how it went."""
    for placement in services.claim_due_warmups(now):
        inputs = _warm_inputs(placement)
        for server in fleet.servers(environment=placement.environment.name, state="active"):
            if inputs:
                _warm(placement, server, inputs, now)


def _warm_inputs(placement: Any) -> list[Any]:
    """The model's first sample, else zeros made from its configuration."""
    sample = registry.samples(placement.model.name).first()
    if sample is not None:
        return samples.to_tensors(sample.inputs)
    return backends.get("triton").CONFIG.example_inputs(placement.active.config)


def _warm(placement: Any, server: Any, inputs: list[Any], now: datetime) -> None:
    number, latency_us, message = placement.active.number, None, ""
    try:
        backend = fleet.connect(server)
        latency_us = backend.infer(placement.model.name, number, inputs, timeout_s=WARM_TIMEOUT_S).latency_us
    except ControlPlaneError as error:
        message = printable(error.message, limit=SHOWN_CHARS)
    services.record_probe(
        placement, server, version=number, kind="warmup", at=now, latency_us=latency_us, message=message
    )


def tidy(now: datetime) -> None:
    """Old probes and kept answers, and what killed workers left in repositories."""
    services.forget_old_probes(now)
    idempotency.forget(now=now)
    moving = {rollout.placement.model.name for rollout in deployments.moving_rollouts()}
    for repository in fleet.repositories():
        repositories.sweep(Path(repository.path), keep_shadows=moving)
