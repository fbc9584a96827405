"""What a promotion costs beyond Triton's own loads, and what clients notice of it."""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from bench.clients import Traffic
from bench.figures import Figure
from bench.stack import Stack
from bench.trial import (
    Change,
    folder_of,
    median_overhead_s,
    run_change,
    run_way,
    samples_of,
    stall_of,
    timed,
)
from bench.ways import MODEL, LoadModel, PollMode, Way
from demo.parts.triton import ControlMode, Triton

CYCLES = 5
CYCLES_BESIDE = 2
CONCH_MODEL = "echo_up"
BARE, POLL = "bare HTTP load_model", "poll mode"
Told = tuple[dict[str, float], dict[str, Any]]


def measure(stack: Stack) -> tuple[list[Figure], dict[str, Any]]:
    """The three figures and what they were made of."""
    conch, samples = _by_conch(stack)
    beside, kept = {}, {"conch": samples}
    ways: list[tuple[str, str, ControlMode, Callable[[Sequence[Triton]], Way]]] = [
        (BARE, "bare-http", "explicit", lambda servers: LoadModel(servers, is_grpc=False)),
        (POLL, "polling", "poll", PollMode),
    ]
    for other, name, mode, make in ways:
        beside[other], kept[other] = _by_way(stack, name, mode, make)
    figures = [
        Figure(name, conch[name], unit, bar, {other: found[name] for other, found in beside.items()})
        for name, unit, bar in (("overhead_s", "s", 1), ("stall_ratio", "", 2), ("failed_requests", "", 0))
    ]
    return figures, kept


def _by_conch(stack: Stack) -> Told:
    stack.say(f"promote: {CYCLES} promotions and rollbacks by Conch")
    stack.add_model(CONCH_MODEL, versions=CYCLES + 1)
    stack.promote(CONCH_MODEL, 1)
    changes: list[Change] = []
    rollouts: list[dict[str, Any]] = []
    with Traffic(stack.home.state, stack.tritons, CONCH_MODEL) as traffic:
        for version in range(2, CYCLES + 2):
            changes.append(run_change("promote", lambda: _promote(stack, version, rollouts), stack.tritons))  # noqa: B023 - called at once
            stack.wait_hot(CONCH_MODEL, 1)
            changes.append(run_change("roll_back", lambda: _roll_back(stack), stack.tritons))
    told, samples = _told(changes, traffic, is_at_once=False)
    return told, {**samples, "rollouts": rollouts}


def _promote(stack: Stack, version: int, kept: list[dict[str, Any]]) -> float:
    """From just before the POST to the end of the rollout, by the clock of this machine."""
    begin_s = time.time()
    ended = stack.promote(CONCH_MODEL, version)
    kept.append({"finished_at": ended["finished_at"], "runs": [_run(run) for run in stack.runs(ended)]})
    return datetime.fromisoformat(ended["finished_at"]).timestamp() - begin_s


def _run(run: dict[str, Any]) -> dict[str, Any]:
    """Seconds of each step."""
    steps = {step["name"]: _seconds(step) for step in run["steps"]}
    return {"server": run["server"], "direction": run["direction"], "seconds": _seconds(run), "steps": steps}


def _seconds(row: dict[str, Any]) -> float:
    begun, ended = (datetime.fromisoformat(row[name]) for name in ("started_at", "finished_at"))
    return round((ended - begun).total_seconds(), 4)


def _roll_back(stack: Stack) -> float:
    begun: list[dict[str, Any]] = []
    took_s = timed(lambda: begun.append(stack.roll_back(CONCH_MODEL)), stack.tritons, version=1, model=CONCH_MODEL)
    stack.wait(begun[0])
    return took_s


def _by_way(stack: Stack, name: str, mode: ControlMode, make: Callable[[Sequence[Triton]], Way]) -> Told:
    stack.say(f"promote: {CYCLES_BESIDE} times by {name}")
    with stack.more_tritons(name, control_mode=mode) as servers:
        way = make(servers)
        stack.start_compiled(servers)
        timed(way.begin, servers, version=1)
        with Traffic(folder_of(servers), servers, MODEL) as traffic:
            changes = run_way(way, servers, times=CYCLES_BESIDE)
    return _told(changes, traffic, is_at_once=way.is_at_once)


def _told(changes: list[Change], traffic: Traffic, *, is_at_once: bool) -> Told:
    samples = samples_of(changes, traffic.requests)
    figures = {
        "overhead_s": median_overhead_s(changes, is_at_once=is_at_once),
        "stall_ratio": stall_of(changes, traffic.requests),
        "failed_requests": samples["traffic"]["failed"],
    }
    return figures, samples
