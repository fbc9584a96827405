"""Gates: a Prometheus that is down, slow, empty or lies, and a worker that is lost while it judges.

What it says is scripted, on the real wire; no data, and nothing that cannot be true, is ever a pass.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from demo.parts.ports import free_port
from tests.apps.metrics.doubles import Asked, ScriptedPrometheus, scripted_prometheus
from tests.faults.ground import Ground
from tests.faults.table import Fault

Rows = list[tuple[dict[str, str], list[list[Any]]]]
Lie = Callable[[Rows], Rows]
BRISK = {"window_s": 6, "every_s": 1, "minimum_samples": 20, "error_limit": 2}
GATES = [
    {"name": "p99", "signal": "latency_quantile", "limit": 60, **BRISK},
    {"name": "errors", "signal": "error_ratio", "limit": 0.01, **BRISK},
]
BAKE_S = 2


def _gated(ground: Ground, url: str, *, inconclusive: str = "roll_back", **bakes: int) -> int:
    """A promotion under gates that ask the Prometheus there."""
    ground.ask_prometheus(url)
    bakes = bakes or {"final_bake_s": BAKE_S}
    services.update_environment(COMMAND, name=ground.world.environment, gates=GATES, inconclusive=inconclusive, **bakes)
    return ground.begin(initialize="")


def _double(ground: Ground, *, says: Callable[[Asked], Any], port: int | None = None) -> ScriptedPrometheus:
    double = ground.keep_open(scripted_prometheus(port))
    double.answer = says
    return double


def _rows(asked: Asked, *, requests: float = 500, failed: float | None = None) -> Rows:
    """What is asked about version 2 when all is well: many requests, quick answers, and no series of failures."""
    query, at = asked.parameters["query"], float(asked.parameters["start"])
    if "(up{" in query:
        return [({"server": "prod-1"}, [[at, "1"]])]
    if "summary_us" in query:
        return [({"version": "2", "quantile": "0.99"}, [[at, "4"]])]
    if "request_failure" in query:
        return [] if failed is None else [({"version": "2"}, [[at, str(failed)]])]
    return [({"server": "prod-1", "version": "2"}, [[at, str(requests)]])]


def _document(rows: Sequence[Any]) -> dict[str, Any]:
    found = [{"metric": labels, "values": values} for labels, values in rows]
    return {"status": "success", "data": {"resultType": "matrix", "result": found}}


def _well(asked: Asked) -> Any:
    return _document(_rows(asked))


def _failing(asked: Asked) -> Any:
    return _document(_rows(asked, failed=400))


def _down(ground: Ground) -> int:
    return ground.walk(_gated(ground, f"http://127.0.0.1:{free_port()}"))


def _slow(ground: Ground) -> int:
    double = _double(ground, says=_well)
    double.hangs()
    return ground.walk(_gated(ground, double.url))


def _empty(ground: Ground) -> int:
    return ground.walk(_gated(ground, _double(ground, says=lambda _: _document([])).url))


def _unwell(ground: Ground) -> int:
    """It answers 200 with something that is not its format."""
    return ground.walk(_gated(ground, _double(ground, says=lambda _: {"status": "success", "data": None}).url))


def _empty_and_paused(ground: Ground) -> int:
    """The policy says pause: it stands still until somebody decides."""
    double = _double(ground, says=lambda _: _document([]))
    rollout = _gated(ground, double.url, inconclusive="pause")
    ground.walk_until(rollout, lambda: selectors.state_of(rollout) == "paused")
    services.abort(COMMAND, rollout=rollout, reason="nothing is known of it")
    return ground.walk(rollout)


def _back_in_time(ground: Ground) -> int:
    """Down when the first look is taken, well before the bake is over."""
    port = free_port()
    rollout = _gated(ground, f"http://127.0.0.1:{port}", final_bake_s=8)
    ground.walk_until(rollout, lambda: selectors.judgements_of(rollout).filter(verdict="error").exists())
    _double(ground, says=_well, port=port)
    return ground.walk(rollout)


def _lies(lie: Lie, ground: Ground) -> int:
    def says(asked: Asked) -> Any:
        return _document(lie(_rows(asked)))

    return ground.walk(_gated(ground, _double(ground, says=says).url))


def _labelled(**changed: str) -> Lie:
    """The same numbers, of something that nobody asked about."""
    return lambda rows: [({**labels, **{k: v for k, v in changed.items() if k in labels}}, at) for labels, at in rows]


def _about(model: str) -> Lie:
    return lambda rows: [({**labels, "model": model}, at) for labels, at in rows]


def _valued(value: str) -> Lie:
    """Every number but whether the server is scraped."""
    return lambda rows: [
        (labels, [[at, value if number != "1" else number] for at, number in values]) for labels, values in rows
    ]


def _shifted(seconds: int) -> Lie:
    return lambda rows: [(labels, [[at + seconds, number] for at, number in values]) for labels, values in rows]


def _without_requests(rows: Rows) -> Rows:
    """A quick p99 and a counter that says success, which has not grown."""
    return [
        (labels, [[at, "0" if set(labels) == {"server", "version"} else number] for at, number in values])
        for labels, values in rows
    ]


def _judge_lost(moment: str, ground: Ground) -> int:
    rollout = _gated(ground, _double(ground, says=_failing).url, final_bake_s=6)
    ground.lose_judge(rollout, moment)
    return ground.walk(rollout)


def _put_back_lost(ground: Ground) -> int:
    """A gate has turned it round, and the worker that puts back is lost in the middle."""
    rollout = _gated(ground, _double(ground, says=_failing).url, final_bake_s=6)

    def is_turned() -> bool:
        return any(run.direction == "revert" for run in selectors.get_rollout(rollout).runs.all())

    ground.walk_until(rollout, is_turned)
    ground.lose_worker(ground.run_of(rollout, direction="revert"), "restore", "after")
    return ground.walk(rollout)


LIES: dict[str, Lie] = {
    "another version": _labelled(version="1"),
    "another model": _about("another"),
    "another server": _labelled(server="prod-9"),
    "five minutes ago": _shifted(-300),
    "NaN": _valued("NaN"),
    "less than nothing": _valued("-500"),
    "success without a request": _without_requests,
}
KIND, KILLED = "Prometheus in a gate", "worker killed"
unjudged = partial(Fault, ends="rolled_back", code="gate_inconclusive")
ROWS = [
    unjudged(KIND, "down", _down),
    unjudged(KIND, "slow", _slow),
    unjudged(KIND, "empty", _empty, is_sample=True),
    unjudged(KIND, "not in its format", _unwell),
    Fault(KIND, "empty, and the policy pauses", _empty_and_paused, ends="rolled_back", code="aborted"),
    Fault(KIND, "down, and back in time", _back_in_time),
    *(unjudged(KIND, f"lying: tells of {what}", partial(_lies, lie)) for what, lie in LIES.items()),
    *(
        Fault(
            KILLED,
            f"{moment} a gate's no is kept",
            partial(_judge_lost, moment),
            ends="rolled_back",
            code="gate_failed",
        )
        for moment in ("before", "after")
    ),
    Fault(KILLED, "after restore while a gate puts back", _put_back_lost, ends="rolled_back", code="gate_failed"),
]
