"""One request to a version that is believed to be hot: a process that died leaves it READY and fails every request."""

from collections.abc import Iterator
from dataclasses import dataclass

from apps.common.text import SHOWN_CHARS, printable
from apps.deployments import services
from apps.registry import fitting, samples
from apps.serving.errors import InferenceFailed, InferenceLate
from apps.serving.protocol import Tensor
from worker.context import Context

# Clients are waiting to be sent there: nothing is asked for longer than this.
TIMEOUT_S = 2.0
# Samples looked through for one that fits: a sample that no longer fits says nothing about the version.
MOST_SAMPLES = 3


@dataclass(frozen=True, slots=True)
class Proof:
    """What the version said: how long it took, why it was not asked or judged, or how it failed."""

    latency_us: int | None = None
    remark: str = ""
    failure: str = ""


def prove(context: Context) -> Proof:
    """Ask the new version on its own number, and keep that as a probe. One good answer is enough."""
    work, number = context.work, context.new.number
    proof = _ask(context)
    if proof.latency_us is not None or proof.failure:
        services.record_probe(
            work.rollout.placement,
            work.server,
            version=number,
            kind="hot",
            at=context.now,
            latency_us=proof.latency_us,
            message=proof.failure,
        )
    return proof


def _ask(context: Context) -> Proof:
    work, new = context.work, context.new
    reason = work.config_format.cannot_ask(new.config)
    if reason:
        return Proof(remark=f"not asked: {reason}")
    failure = ""
    for inputs in _inputs(context):
        try:
            answer = context.backend.infer(work.model, new.number, inputs, timeout_s=TIMEOUT_S)
        except InferenceLate:
            # A slow model is no dead one, and loading it again would take longer still.
            return Proof(remark=f"no answer within {TIMEOUT_S:g} s")
        except InferenceFailed as error:
            failure = failure or printable(error.message, limit=SHOWN_CHARS)
        else:
            return Proof(latency_us=answer.latency_us)
    return Proof(failure=failure) if failure else Proof(remark="not asked: no sample fits, and it takes no zeros")


def _inputs(context: Context) -> Iterator[list[Tensor]]:
    """The samples that fit, then zeros: whoever is broken answers none of them."""
    fit, _ = fitting.split(context.work.run.model.samples.order_by("name")[:MOST_SAMPLES], context.new)
    yield from (samples.to_tensors(sample.inputs) for sample in fit)
    zeros = context.work.config_format.example_inputs(context.new.config)
    if zeros:
        yield zeros
