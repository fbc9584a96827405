"""Looks at a rollout's gates: Conch's own requests, then what Prometheus says. No transaction is open meanwhile."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any

from django.utils import timezone

from apps.common.errors import ControlPlaneError
from apps.common.text import SHOWN_CHARS, printable
from apps.deployments import services
from apps.deployments.services.judging import GATE_PROBE, SYNTHETIC, ToJudge
from apps.fleet import connecting
from apps.metrics.errors import PrometheusFailed
from apps.metrics.gates import PROBE_FAILURES
from apps.metrics.measuring import answered, measure
from apps.metrics.verdicts import judge
from apps.registry import fitting, samples
from apps.registry import selectors as registry
from apps.serving import backends
from apps.serving.errors import InferenceFailed
from apps.serving.protocol import Tensor
from apps.serving.signals import Signal

MOST_AT_ONCE = 16
# Servers asked in one look; the next look asks the next ones.
MOST_SERVERS = 32
TIMEOUT_S = 5.0
# So long the requests of one look may take in all: the claim on it must outlast them, however slow the model is.
SENDING_S = 30.0
_PROBED = (Signal.ERROR_RATIO, PROBE_FAILURES)


def judge_rollout(rollout_id: int, *, now: datetime, sending_s: float = SENDING_S) -> None:
    """Judge every gate that is due; safe to deliver twice, or to be killed in."""
    todo = services.claim_look(rollout_id, now=now)
    if todo is None:
        return
    _send_requests(todo, now=now, until_s=time.monotonic() + sending_s)
    now = timezone.now()
    judged = [
        judge(
            gate,
            measure(gate, todo.subject, now=now, probes=services.probes_of(todo, gate, now=now)),
            objective=todo.objective(gate),
            is_replacing=todo.subject.replaced is not None,
        )
        for gate in todo.gates
    ]
    services.keep_judgements(todo, judged, now=now)


@dataclass(frozen=True, slots=True)
class _Asking:
    """Requests to one server: a probe, or as many as it lacks."""

    server: Any
    kind: str
    requests: int


def _send_requests(todo: ToJudge, *, now: datetime, until_s: float) -> None:
    """What Triton's counters cannot tell, and traffic where the policy allows it and there is too little."""
    asking = _asking(todo, now=now)
    inputs = _inputs(todo) if asking else []
    if not inputs:
        return
    with ThreadPoolExecutor(min(MOST_AT_ONCE, len(asking)), thread_name_prefix="gate") as pool:
        # The asking threads use no database connection; a server that hangs holds up no other.
        answers = list(pool.map(lambda one: _ask(todo, one, inputs, until_s=until_s), asking))
    services.record_probes(todo, [(one.server, one.kind, said) for one, said in zip(asking, answers, strict=True)])


def _asking(todo: ToJudge, *, now: datetime) -> list[_Asking]:
    lacking = _lacking(todo, now=now)
    chosen = _in_turn(todo.servers, now)
    asking = [_Asking(server, SYNTHETIC, lacking[server.name]) for server in chosen if lacking.get(server.name)]
    if any(gate.signal in _PROBED for gate in todo.gates):
        asking += [_Asking(server, GATE_PROBE, 1) for server in chosen if not lacking.get(server.name)]
    return asking


def _in_turn(servers: tuple[Any, ...], now: datetime) -> list[Any]:
    """A share of the servers, another one each second: of many, all have their turn."""
    start = int(now.timestamp()) * MOST_SERVERS % max(len(servers), 1)
    return [*servers[start:], *servers[:start]][:MOST_SERVERS]


def _lacking(todo: ToJudge, *, now: datetime) -> dict[str, int]:
    """Synthetic requests for each server that has too few from clients; empty where the policy allows none.

    Asked at every look, however many of Conch's own are in the window: what is sent now is only scraped later.
    """
    if todo.policy.synthetic is None or not todo.gates:
        return {}
    window_s = max(gate.window_s for gate in todo.gates)
    share = ceil(max(gate.minimum_samples for gate in todo.gates) / len(todo.servers))
    try:
        counts = answered(todo.subject, window_s=window_s, now=now)
    except PrometheusFailed:
        counts = {}
    ours, most = services.synthetic_made(todo, window_s=window_s, now=now), todo.policy.synthetic.requests
    return {name: most for name in todo.subject.servers if counts.get(name, 0.0) - ours.get(name, 0) < share}


def _inputs(todo: ToJudge) -> list[list[Tensor]]:
    """The model's samples that fit the version, else zeros made from its configuration; none where neither suits."""
    config_format = backends.get(todo.servers[0].kind).CONFIG
    if config_format.cannot_ask(todo.config):
        return []
    fit, _ = fitting.split(registry.samples(todo.subject.model), todo)
    if fit:
        return [samples.to_tensors(sample.inputs) for sample in fit[:MOST_AT_ONCE]]
    zeros = config_format.example_inputs(todo.config)
    return [zeros] if zeros else []


def _ask(todo: ToJudge, one: _Asking, inputs: list[list[Tensor]], *, until_s: float) -> list[tuple[int | None, str]]:
    """Latency in microseconds or the model's own words of failure, for each request that got an answer.

    A server that cannot be reached says nothing about the version: what it did not answer is not counted.
    """
    said: list[tuple[int | None, str]] = []
    for number in range(one.requests):
        if time.monotonic() >= until_s:
            break
        try:
            backend = connecting.connect(one.server)
            tensors = inputs[number % len(inputs)]
            answer = backend.infer(todo.subject.model, todo.subject.version, tensors, timeout_s=TIMEOUT_S)
        except InferenceFailed as error:
            said.append((None, printable(error.message, limit=SHOWN_CHARS) or "failed"))
        except ControlPlaneError:
            break
        else:
            said.append((answer.latency_us, ""))
    return said
