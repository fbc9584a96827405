"""What happens because time passes."""

import logging
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from apps.access import idempotency
from apps.common.dispatch import wake
from apps.common.errors import ControlPlaneError
from apps.common.text import SHOWN_CHARS, printable
from apps.deployments import reconciler, services
from apps.deployments import selectors as deployments
from apps.fleet import connecting
from apps.fleet import selectors as fleet
from apps.fleet import services as fleet_services
from apps.fleet.repositories import open_home
from apps.registry import fitting, samples
from apps.registry import selectors as registry
from apps.registry import services as registry_services
from apps.serving import backends
from apps.serving.protocol import Tensor

log = logging.getLogger(__name__)
SHARD = 50
# Shards are begun so far apart, each at its own time of the interval and all of them well before the next: whoever asks
# for a page, or waits for a rollout, shares the machine with one or two of them and not with a thousand servers.
APART_S, SPREAD = 0.35, 0.7
# While so many runs wait for a worker, a server is looked at every second time only, and what can wait waits: looking
# at a thousand takes a third of what two cores do, and a rollback of a thousand servers needs it more. A shard begun
# late is not so old yet when its second time comes: SELDOM stays below 2 - SPREAD, or it is looked at every third time.
MANY_WAIT, SELDOM, AT_LEISURE = 100, 1.1, frozenset({"conch.measure_memory"})
MOST_AT_ONCE = 64
WARM_TIMEOUT_S = 10.0
MOST_SAMPLES = 5


def observe_fleet(now: datetime) -> None:
    """One message per shard of servers, whatever the size of the fleet, one after another."""
    every_s = float(settings.CONCH["observe_every_s"])
    unseen_s = SELDOM * every_s if _is_behind(now) else 0
    ids = fleet.servers_to_look_at(now=now, unseen_for=timedelta(seconds=unseen_s))
    shards = [ids[start : start + SHARD] for start in range(0, len(ids), SHARD)]
    apart_s = min(APART_S, SPREAD * every_s / max(1, len(shards)))
    for position, shard in enumerate(shards):
        wake("conch.observe_servers", after_s=position * apart_s, server_ids=shard)


def _is_behind(now: datetime) -> bool:
    return deployments.waiting_runs(now) >= MANY_WAIT


def observe_servers(server_ids: list[int], now: datetime) -> None:
    """What these servers serve now, kept; then whatever mends where that is not what they should."""
    fleet_services.observe(server_ids, now=now, changing=deployments.changing_models(server_ids))
    reconciler.reconcile(server_ids, now=now)


# What may be due, by the task that does it and what that task calls the row's key.
DUE: tuple[tuple[str, str, Callable[[datetime], Iterable[Any]]], ...] = (
    ("conch.advance_rollout", "rollout_id", deployments.due_rollouts),
    ("conch.judge_rollout", "rollout_id", deployments.due_judgements),
    ("conch.measure_memory", "reading_id", deployments.due_readings),
    ("conch.advance_run", "run_id", services.runs_to_wake),
    ("conch.fetch_version", "version_id", registry_services.due_fetches),
    ("conch.finish_upload", "upload", registry_services.due_uploads),
    ("conch.check_version", "version_id", registry_services.due_versions),
    ("conch.capture_golden", "sample_id", registry.due_captures),
    ("conch.introduce_server", "server_id", fleet_services.sweep_servers),
    ("conch.answer_trial", "trial_id", services.sweep_trials),
)


def sweep(now: datetime) -> None:
    """Wake what is due and nobody holds: a lost message or a killed worker costs time, never the work."""
    waits = AT_LEISURE if _is_behind(now) else frozenset()
    for task, name, due in DUE:
        if task in waits:
            continue
        for key in due(now):
            wake(task, **{name: key})
    for placement in deployments.expired_standbys(now):
        services.retire_standby(placement)
    services.catch_up(now=now)


@dataclass(frozen=True, slots=True)
class _WarmUp:
    """The requests that keep one version of a placement warm on one server."""

    placement: Any
    server: Any
    version: int
    requests: list[list[Tensor]]


def warm_due(now: datetime) -> None:
    """Send real requests to every server of each placement that is due, all servers at once, and keep how it went."""
    due = [one for placement in services.claim_due_warmups(now) for one in _warm_ups(placement)]
    if not due:
        return
    with ThreadPoolExecutor(min(MOST_AT_ONCE, len(due)), thread_name_prefix="warm") as pool:
        # The asking threads use no database connection; a server that hangs holds up no other.
        for one, (latency_us, message) in zip(due, pool.map(_warm, due), strict=True):
            services.record_probe(
                one.placement,
                one.server,
                version=one.version,
                kind="warmup",
                at=now,
                latency_us=latency_us,
                message=message,
            )


def _warm_ups(placement: Any) -> Iterator[_WarmUp]:
    """The live version everywhere; the standby where it was last seen loaded: a rollback sends everybody to it."""
    servers = list(fleet.servers(environment=placement.environment.name, state="active"))
    yield from _of_version(placement, placement.active, servers)
    if placement.standby is not None:
        loaded = set(fleet.ready_versions(servers, model=placement.model.name))
        hot = [server for server in servers if (server.name, placement.standby.number) in loaded]
        yield from _of_version(placement, placement.standby, hot)


def _of_version(placement: Any, version: Any, servers: list[Any]) -> Iterator[_WarmUp]:
    fit, _ = fitting.split(registry.samples(placement.model.name), version)
    # Made once for all servers of a kind: samples can be large, and there may be a thousand servers.
    requests = {kind: _requests(version, kind, fit[:MOST_SAMPLES]) for kind in {server.kind for server in servers}}
    for server in servers:
        if requests[server.kind]:
            yield _WarmUp(placement, server, version.number, requests[server.kind])


def _requests(version: Any, kind: str, fit: list[Any]) -> list[list[Tensor]]:
    """The samples, else zeros made from the configuration as that kind of server reads it; none where neither suits."""
    config_format = backends.get(kind).CONFIG
    if config_format.cannot_ask(version.config):
        return []
    found = [samples.to_tensors(sample.inputs) for sample in fit]
    return found or [inputs for inputs in [config_format.example_inputs(version.config)] if inputs]


def _warm(one: _WarmUp) -> tuple[int | None, str]:
    """The slowest answer in microseconds, or why one did not come: the first that fails is the last that is sent."""
    slowest = 0
    try:
        backend = connecting.connect(one.server)
        for inputs in one.requests:
            answer = backend.infer(one.placement.model.name, one.version, inputs, timeout_s=WARM_TIMEOUT_S)
            slowest = max(slowest, answer.latency_us)
    except ControlPlaneError as error:
        return None, printable(error.message, limit=SHOWN_CHARS)
    return slowest, ""


def tidy(now: datetime) -> None:
    """Old probes, kept answers and uploads; what killed processes left in the store and in repositories."""
    services.forget_old_probes(now)
    services.forget_old_trials(now)
    services.tally_ended(now)
    idempotency.forget(now=now)
    registry_services.sweep_uploads(now)
    registry_services.forget_unchosen(now)
    try:
        registry_services.sweep_store()
        services.apply_retention(now)
    except ControlPlaneError as error:
        log.warning("the artifact store could not be tidied: %s", error.message)
    kept = {rollout.placement.model.name for rollout in deployments.moving_rollouts()} | deployments.stuck_models()
    for repository in fleet.repositories():
        try:
            home = open_home(repository)
            home.sweep(keep_shadows=kept)
            home.remove_versions(registry.removed_numbers())
        except ControlPlaneError as error:
            log.warning("repository %s could not be tidied: %s", repository.name, error.message)
