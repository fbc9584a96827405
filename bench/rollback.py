"""From the POST to the last of two servers answering the old version, hot."""

from collections.abc import Callable, Sequence
from typing import Any

from bench.clients import Traffic
from bench.figures import Figure, percentile
from bench.stack import Stack
from bench.trial import folder_of, timed, traffic_summary
from bench.ways import MODEL, LoadModel, PollMode, Way
from demo.parts.triton import ControlMode, Triton

ROUNDS = 20
ROUNDS_BARE = 5
ROUNDS_POLL = 2
CONCH_MODEL = "echo_back"
BARE, POLL = "bare gRPC load_model", "poll mode"


def measure(stack: Stack) -> tuple[list[Figure], dict[str, Any]]:
    """The three figures and what they were made of."""
    conch = _by_conch(stack)
    beside = {
        BARE: _by_way(stack, "bare", "explicit", lambda servers: LoadModel(servers, is_grpc=True), ROUNDS_BARE),
        POLL: _by_way(stack, "poll", "poll", PollMode, ROUNDS_POLL),
    }
    figures = [
        Figure(name, _share(conch, share), "ms", bar, {other: _share(found, share) for other, found in beside.items()})
        for name, share, bar in (("hot_p50_ms", 0.5, 150), ("hot_p95_ms", 0.95, 300))
    ]
    failures = {other: found["traffic"]["failed"] for other, found in beside.items()}
    figures.append(Figure("failed_requests", conch["traffic"]["failed"], "", 0, failures))
    return figures, {"conch": conch, **beside}


def _share(found: dict[str, Any], share: float) -> float:
    return round(percentile(found["rollbacks_ms"], share), 1)


def _by_conch(stack: Stack) -> dict[str, Any]:
    stack.say(f"rollback: {ROUNDS} hot rollbacks by Conch")
    stack.add_model(CONCH_MODEL, versions=2)
    for version in (1, 2):
        stack.promote(CONCH_MODEL, version)
    # The way up again is not measured, and is gone once a round.
    stack.set_policy(parallel=len(stack.tritons), shadow={"when": "never"})
    with Traffic(stack.home.state, stack.tritons, CONCH_MODEL) as traffic:
        rounds = [_roll_back(stack) for _ in range(ROUNDS + 1)]
    return _told([took_ms for took_ms, _ in rounds], traffic) | {"steps_ms": [steps for _, steps in rounds[1:]]}


def _roll_back(stack: Stack) -> tuple[float, dict[str, Any]]:
    """One hot rollback, then version 2 again; milliseconds, and what each part of it took by Conch's own record."""
    stack.wait_hot(CONCH_MODEL, 1)
    begun: list[dict[str, Any]] = []
    took_s = timed(
        lambda: begun.append(stack.roll_back(CONCH_MODEL, to=1)), stack.tritons, version=1, model=CONCH_MODEL
    )
    ended = stack.wait(begun[0])
    if sorted(ended["plan"]["hot"]) != sorted(server.name for server in stack.tritons):
        raise RuntimeError(f"this rollback was not hot: {ended['plan']}")
    # What is rolled back is not kept hot: only a promotion makes the way back instant again.
    stack.promote(CONCH_MODEL, 2)
    return took_s * 1000, {"created_at": ended["created_at"], "runs": [_steps(run) for run in stack.runs(ended)]}


def _steps(run: dict[str, Any]) -> dict[str, Any]:
    steps = {step["name"]: [step["started_at"], step["finished_at"]] for step in run["steps"]}
    return {"server": run["server"], "direction": run["direction"], "steps": steps}


def _by_way(
    stack: Stack, name: str, mode: ControlMode, make: Callable[[Sequence[Triton]], Way], rounds: int
) -> dict[str, Any]:
    stack.say(f"rollback: {rounds} times by {name}")
    with stack.more_tritons(name, control_mode=mode) as servers:
        way = make(servers)
        stack.start_compiled(servers)
        way.begin()
        timed(way.bring_new, servers, version=2)
        took_ms = []
        with Traffic(folder_of(servers), servers, MODEL) as traffic:
            for _ in range(rounds + 1):
                took_ms.append(timed(way.bring_back, servers, version=1) * 1000)
                timed(way.bring_new, servers, version=2)
    return _told(took_ms, traffic)


def _told(took_ms: list[float], traffic: Traffic) -> dict[str, Any]:
    """The first one is not counted."""
    return {
        "first_ms": round(took_ms[0], 2),
        "rollbacks_ms": [round(one, 2) for one in took_ms[1:]],
        "traffic": traffic_summary(traffic.requests),
    }
