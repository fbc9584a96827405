"""Fills an empty Conch with the demo, through its REST API alone; safe to run again."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from demo import reader
from demo.extras import add_overlay, add_version_by_reference
from demo.fleet import RANKS, FleetServer
from demo.parts.errors import PartNotReady
from demo.rest import Conch
from demo.trained import Digits

MODEL = "digits"
VERSIONS = (1, 2, 3, 4, 5)
WAIT_S = 180.0
SLO_P99_MS = 50
BRISK = {"window_s": 15, "every_s": 3, "failure_limit": 2}
PROD_POLICY = {
    "waves": [1, "100%"],
    "bake_s": 15,
    "final_bake_s": 15,
    "gates": [
        # Enough requests that the one cold request of a new version is not its p99.
        {"name": "p99", "signal": "latency_quantile", "against": "objective", "minimum_samples": 120, **BRISK},
        {"name": "errors", "signal": "error_ratio", "limit": 0.01, **BRISK},
    ],
    "synthetic": {"requests": 40},
}
Say = Callable[[str], None]


def seed(conch: Conch, *, fleet: Sequence[FleetServer], digits: Digits, say: Say) -> None:
    """Environments, servers, the model with its versions and samples, then the first rollouts."""
    say("registering three servers and the model 'digits'")
    add_fleet(conch, fleet)
    add_model(conch, digits)
    reader.add_reader(conch, digits)
    for number in VERSIONS:
        add_version(conch, digits, number)
    wait_until(lambda: conch.get(f"models/{reader.NAME}/versions/1"), {"ready"}, what=reader.NAME)
    for environment in RANKS:
        wait_for_servers(conch, [server for server in fleet if server.environment == environment])
        promote_first(conch, environment=environment, version=1, say=say)
    if not has_rollout(conch, environment="staging", version=2):
        release(conch, environment="staging", items={MODEL: 2, reader.NAME: 1}, say=say)
    guard_prod(conch)
    add_version_by_reference(conch, model=MODEL, digits=digits)
    add_overlay(conch, model=MODEL, environment="staging")


def guard_prod(conch: Conch) -> None:
    """Waves, short bakes and two gates for prod; after the first promotions, which would wait for them."""
    path = "environments/prod/policy"
    now = conch.get(path)
    if now["number"] == 0:
        reason = "one server first, then judged against what the model promises"
        conch.put(path, {"policy": {**now["policy"], **PROD_POLICY}, "based_on": 0, "reason": reason})


def add_fleet(conch: Conch, fleet: Sequence[FleetServer]) -> None:
    """Environments, one repository for each, servers."""
    for name, rank in RANKS.items():
        ensure(conch, "environments", name, {"rank": rank})
        folder = next(server.triton.repository for server in fleet if server.environment == name)
        if not conch.get(f"repositories?environment={name}")["results"]:
            conch.post("repositories", {"name": name, "environment": name, "kind": "posix", "path": str(folder)})
    for server in fleet:
        place = {"environment": server.environment, "repository": server.environment}
        ensure(conch, "servers", server.name, {**place, **server.addresses()})


def add_model(conch: Conch, digits: Digits) -> None:
    """The model with its promise to its users, and the golden samples."""
    about = {
        "owner": "vision",
        "description": "Handwritten digits, 8 x 8 pixels: label and probabilities.",
        "slo_p99_ms": SLO_P99_MS,
        "slo_error_ratio": 0.001,
    }
    ensure(conch, "models", MODEL, about)
    there = {sample["name"] for sample in conch.get(f"models/{MODEL}/samples")["results"]}
    for sample in digits.samples():
        if sample["name"] not in there:
            conch.post(f"models/{MODEL}/samples", sample)


def add_version(conch: Conch, digits: Digits, number: int) -> None:
    """Upload one version and wait until it was checked."""
    path = f"models/{MODEL}/versions/{number}"
    if not conch.has(path):
        fields = {"number": str(number), "notes": digits.notes(number)}
        conch.upload(f"models/{MODEL}/versions", digits.archive(number), fields)
    wait_until(lambda: conch.get(path), {"ready"}, what=f"version {number} of {MODEL}")


def wait_for_servers(conch: Conch, fleet: Sequence[FleetServer]) -> None:
    """Wait until Conch has asked each server who it is."""
    for server in fleet:
        path = f"servers/{server.name}"
        wait_until(lambda path=path: conch.get(path), {"active"}, what=server.name)  # type: ignore[misc]


def promote_first(conch: Conch, *, environment: str, version: int, say: Say) -> None:
    """Promote unless something was ever rolled out there: what a person did is left alone."""
    if not conch.get(f"rollouts?environment={environment}&model={MODEL}")["results"]:
        promote(conch, environment=environment, version=version, reason="first version", say=say)


def has_rollout(conch: Conch, *, environment: str, version: int) -> bool:
    """True when that version was ever rolled out there."""
    rollouts = conch.get(f"rollouts?environment={environment}&model={MODEL}")["results"]
    return any(rollout["to_version"] == version for rollout in rollouts)


def promote(conch: Conch, *, environment: str, version: int, reason: str, say: Say) -> None:
    """Start a rollout and wait for its end."""
    say(f"promoting version {version} in {environment}")
    wanted = {"environment": environment, "model": MODEL, "version": version, "reason": reason}
    rollout = conch.post("rollouts", wanted)
    path = f"rollouts/{rollout['id']}?wait=30"
    wait_until(lambda: conch.get(path), {"succeeded"}, what=f"rollout {rollout['id']}")


def release(conch: Conch, *, environment: str, items: dict[str, int], say: Say) -> None:
    """Bring several models live together, and wait for the end of all."""
    say(f"releasing {' and '.join(f'{model} {version}' for model, version in items.items())} in {environment}")
    wanted = {
        "environment": environment,
        "items": [{"model": model, "version": version} for model, version in items.items()],
        "reason": "better on held-out images, and the ensemble that reads them",
    }
    path = f"releases/{conch.post('releases', wanted)['id']}"
    wait_until(lambda: conch.get(f"{path}?wait=30"), {"succeeded"}, what=path)


def ensure(conch: Conch, collection: str, name: str, fields: dict[str, Any]) -> None:
    """Make it unless there is one of that name."""
    if not conch.has(f"{collection}/{name}"):
        conch.post(collection, {"name": name, **fields})


def wait_until(ask: Callable[[], dict[str, Any]], states: set[str], *, what: str) -> dict[str, Any]:
    """Ask until its `state` is one of those; PartNotReady with the last answer otherwise."""
    deadline = time.monotonic() + WAIT_S
    bad = {"failed", "rejected", "refused", "rolled_back"}
    while True:
        answer = ask()
        if answer["state"] in states:
            return answer
        if answer["state"] in bad or time.monotonic() > deadline:
            raise PartNotReady(f"{what} is {answer['state']}: {str(answer)[:1500]}")
        time.sleep(0.2)
