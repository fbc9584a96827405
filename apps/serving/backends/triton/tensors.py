"""Tensors to and from the wire. BF16 is float32 everywhere else in Conch."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tritonclient.grpc import InferenceServerClient, InferInput, InferResult
from tritonclient.utils import triton_to_np_dtype

from apps.serving.protocol import Answer, Tensor

DATATYPES = (
    "BOOL UINT8 UINT16 UINT32 UINT64 INT8 INT16 INT32 INT64 FP16 BF16 FP32 FP64 BYTES".split()  # noqa: SIM905
)


class UnusableTensor(ValueError):
    """A tensor that cannot be put on, or read from, the wire; the adapter translates it."""


def to_wire(tensor: Tensor) -> InferInput:
    """`tensor` as the client library sends it."""
    if tensor.datatype not in DATATYPES:
        raise UnusableTensor(f"input {tensor.name!r}: there is no datatype {tensor.datatype!r}")
    try:
        array = tensor.array.astype(triton_to_np_dtype(tensor.datatype), copy=False)
        wire = InferInput(tensor.name, list(array.shape), tensor.datatype)
        wire.set_data_from_numpy(array)
    except (ValueError, TypeError, OverflowError) as error:
        raise UnusableTensor(f"input {tensor.name!r}: {error}") from error
    return wire


def from_wire(result: InferResult) -> dict[str, NDArray[Any]]:
    """Every output by name."""
    return {str(output.name): _output(result, output) for output in result.get_response().outputs}


def _output(result: InferResult, output: Any) -> NDArray[Any]:
    try:
        array: NDArray[Any] = result.as_numpy(output.name)
    except ValueError as error:
        shape = list(output.shape)
        raise UnusableTensor(f"output {output.name!r} does not hold the {shape} values it declares: {error}") from error
    return array.astype(np.float32) if output.datatype == "BF16" else array


def ask(client: InferenceServerClient, model: str, version: str, inputs: Sequence[Tensor], **call: Any) -> Answer:
    """One inference, timed from the first byte sent to the last received."""
    wire = [to_wire(tensor) for tensor in inputs]
    started_ns = time.perf_counter_ns()
    result = client.infer(model, wire, model_version=version, **call)
    latency_us = (time.perf_counter_ns() - started_ns) // 1_000
    return Answer(outputs=from_wire(result), latency_us=latency_us)
