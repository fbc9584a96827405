"""Real requests to a version: warm-up inputs and golden samples."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from apps.common.text import SHOWN_CHARS, printable
from apps.deployments.errors import GoldenMismatch, WarmupFailed
from apps.registry import fitting, samples
from apps.registry.golden import matches
from apps.serving.errors import InferenceFailed
from apps.serving.protocol import Answer
from worker.context import Context

WARM_REQUESTS = 5
MOST_SAMPLES = 50
TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Warmth:
    """How warming went: latencies in microseconds in order, and whether the model takes zeros."""

    latencies_us: list[int]
    takes_zeros: bool
    remark: str = ""


def warm(context: Context, model: str, number: int) -> Warmth:
    """Send zeros made from the configuration and the model's samples, each several times, to one version."""
    work, new = context.work, context.new
    reason = work.config_format.cannot_ask(new.config)
    if reason:
        return Warmth([], takes_zeros=False, remark=reason)
    latencies: list[int] = []
    zeros = work.config_format.example_inputs(new.config)
    remark = "" if zeros else "this kind of model takes no made-up inputs"
    if zeros:
        try:
            latencies += [_ask(context, model, number, zeros) for _ in range(WARM_REQUESTS)]
        except InferenceFailed as error:
            remark = printable(f"zeros are refused: {error.message}", limit=SHOWN_CHARS)
    takes_zeros = bool(zeros) and not remark
    fit, _ = fitting.split(work.samples, new)
    for sample in fit[:MOST_SAMPLES]:
        try:
            latencies += [_ask(context, model, number, samples.to_tensors(sample.inputs)) for _ in range(2)]
        except InferenceFailed as error:
            raise WarmupFailed(
                f"{work.server.name}: {model} {number}, {sample}: {error.message}", **error.facts
            ) from error
    if zeros and not takes_zeros and not fit:
        raise WarmupFailed(f"{work.server.name}: {model} {number}: {remark}")
    return Warmth(latencies, takes_zeros, remark)


def check_golden(context: Context, model: str, number: int) -> dict[str, Any]:
    """Hold the version against every golden sample; GoldenMismatch names the first differences."""
    where = f"{context.work.server.name}: {context.work.model} {number}"
    reason = context.work.config_format.cannot_ask(context.new.config)
    if reason:
        return {"golden": 0, "unchecked": reason}
    fit, unfit = fitting.split(context.work.samples, context.new)
    golden = [sample for sample in fit if sample.is_golden]
    if not golden and any(sample.is_golden for sample in context.work.samples):
        raise GoldenMismatch(
            f"{where}: no golden sample fits this version: {'; '.join(unfit[:3])}",
            hint="Add a golden sample for its inputs and outputs; nothing tells whether its answers are right.",
        )
    found = [text for sample in golden for text in differences(context, model, number, sample)]
    if found:
        raise GoldenMismatch(
            f"{where}: {len(found)} of {len(golden)} golden answers differ: {'; '.join(found[:3])}",
            reason="\n".join(found[:100]),
        )
    return {"golden": len(golden), **({"unfit": unfit} if unfit else {})}


def differences(context: Context, model: str, number: int, sample: Any) -> Iterable[str]:
    """In words, where the version's answer is not the sample's; empty when it is."""
    inputs = samples.to_tensors(sample.inputs)
    try:
        answer = context.backend.infer(model, number, inputs, timeout_s=TIMEOUT_S)
    except InferenceFailed as error:
        return [f"{sample.name}: {error.message}"]
    found = (_difference(expected, answer) for expected in sample.outputs)
    first = next((text for text in found if text), None)
    return [f"{sample.name}: {first}"] if first else []


def _difference(expected: dict[str, Any], answer: Answer) -> str | None:
    got = answer.outputs.get(expected["name"])
    return f"there is no output {expected['name']}" if got is None else matches(expected, got)


def _ask(context: Context, model: str, number: int, inputs: list[Any]) -> int:
    return context.backend.infer(model, number, inputs, timeout_s=TIMEOUT_S).latency_us
