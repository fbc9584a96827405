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
from worker.outcomes import Wait
from worker.steps._bit_by_bit import one_by_one

WARM_REQUESTS, SAMPLE_REQUESTS = 5, 2
MOST_SAMPLES = 50
TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Warmth:
    """How warming went: latencies in microseconds in order, and whether the model takes zeros."""

    latencies_us: list[int]
    takes_zeros: bool
    remark: str = ""


def try_out(context: Context, model: str, number: int) -> tuple[Warmth, dict[str, Any]] | Wait:
    """Warm one version and hold it against the golden samples: how that went, or what is still waited for."""
    warmth = warm(context, model, number)
    if isinstance(warmth, Wait):
        return warmth
    golden = check_golden(context, model, number)
    return golden if isinstance(golden, Wait) else (warmth, golden)


def warm(context: Context, model: str, number: int) -> Warmth | Wait:
    """Send zeros made from the configuration and the model's samples, each several times, to one version."""
    work, new = context.work, context.new
    reason = work.config_format.cannot_ask(new.config)
    if reason:
        return Warmth([], takes_zeros=False, remark=reason)
    zeros = work.config_format.example_inputs(new.config)
    fit = fitting.split(work.samples, new)[0][:MOST_SAMPLES]
    todo = [None] * (WARM_REQUESTS if zeros else 0) + [sample for sample in fit for _ in range(SAMPLE_REQUESTS)]

    def ask(sample: Any, answers: list[int | str]) -> int | str:
        if sample is not None:
            return _ask_sample(context, model, number, sample)
        refused = next((said for said in answers if isinstance(said, str)), None)
        return refused or _ask_zeros(context, model, number, zeros)

    answers = one_by_one(context, "warm", todo, ask, doing=f"{model} {number} is warmed")
    if isinstance(answers, Wait):
        return answers
    refused = next((said for said in answers if isinstance(said, str)), "")
    if refused and not fit:
        raise WarmupFailed(f"{work.server.name}: {model} {number}: {refused}")
    latencies = [latency for latency in answers if isinstance(latency, int)]
    remark = refused or ("" if zeros else "this kind of model takes no made-up inputs")
    return Warmth(latencies, takes_zeros=bool(zeros) and not refused, remark=remark)


def check_golden(context: Context, model: str, number: int) -> dict[str, Any] | Wait:
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

    def ask(sample: Any, _: list[list[str]]) -> list[str]:
        return list(differences(context, model, number, sample))

    told = one_by_one(context, "golden", golden, ask, doing=f"{model} {number} is held against golden samples")
    if isinstance(told, Wait):
        return told
    found = [text for texts in told for text in texts]
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


def _ask_zeros(context: Context, model: str, number: int, zeros: list[Any]) -> int | str:
    """How long it took, or why the model takes none: many cannot make anything of zeros."""
    try:
        return _ask(context, model, number, zeros)
    except InferenceFailed as error:
        return printable(f"zeros are refused: {error.message}", limit=SHOWN_CHARS)


def _ask_sample(context: Context, model: str, number: int, sample: Any) -> int:
    try:
        return _ask(context, model, number, samples.to_tensors(sample.inputs))
    except InferenceFailed as error:
        where = f"{context.work.server.name}: {model} {number}"
        raise WarmupFailed(f"{where}, {sample}: {error.message}", **error.facts) from error


def _ask(context: Context, model: str, number: int, inputs: list[Any]) -> int:
    return context.backend.infer(model, number, inputs, timeout_s=TIMEOUT_S).latency_us
