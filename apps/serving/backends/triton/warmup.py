"""Warm-up by zeros: what the server runs before it calls a version ready, and the same from outside."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from tritonclient.utils import triton_to_np_dtype

from apps.serving.backends.triton.document import datatype
from apps.serving.errors import ConfigUnparsable
from apps.serving.protocol import Tensor

# A warm-up whose size overflows ends the whole server; one that is merely huge holds it up.
LIMIT_BYTES = 64 * 2**20
# An empty string still carries its length.
STRING_BYTES = 4


def zero_warmup(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One entry of zeros for the inputs that must be there; empty where that warms nothing or may harm."""
    inputs, sizes = _needed_inputs(document), told_sizes(document)
    if not inputs:
        return []
    entry = {
        "name": "zeros",
        "batch_size": 1,
        "inputs": {
            tensor["name"]: {"data_type": tensor["data_type"], "dims": _shape(tensor, sizes), "zero_data": True}
            for tensor in inputs
        },
    }
    return [entry] if entry_bytes(entry) <= LIMIT_BYTES else []


def example_inputs(document: Mapping[str, Any]) -> list[Tensor]:
    """Zeros as `zero_warmup` has them (BYTES: empty strings), for a request from outside."""
    batch = [1] if document.get("max_batch_size", 0) > 0 else []
    return [
        _zeros(name, datatype(tensor["data_type"]), [*batch, *tensor["dims"]])
        for entry in zero_warmup(document)
        for name, tensor in entry["inputs"].items()
    ]


def cannot_ask(document: Mapping[str, Any]) -> str:
    """In words, why a single plain request does not suit the model; empty where it does."""
    if document.get("model_transaction_policy", {}).get("decoupled"):
        return "a decoupled model answers a request with any number of responses: it is neither warmed nor checked"
    if "sequence_batching" in document:
        return "a sequence model needs sequence ids and start flags: it is neither warmed nor checked"
    return ""


def check_size(document: Mapping[str, Any]) -> None:
    """ConfigUnparsable when the warm-up in `document` is larger than a server is trusted with."""
    for entry in document.get("model_warmup", ()):
        if entry_bytes(entry) > LIMIT_BYTES:
            raise ConfigUnparsable(
                f"warm-up {str(entry.get('name', ''))[:80]!r} needs {entry_bytes(entry):,} bytes, "
                f"the limit is {LIMIT_BYTES:,}",
                field="model_warmup",
            )


def _needed_inputs(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The inputs to send; none for models that a single plain request does not suit."""
    is_plain = not (
        "sequence_batching" in document
        or "ensemble_scheduling" in document
        or document.get("model_transaction_policy", {}).get("decoupled")
    )
    needed = [tensor for tensor in document.get("input", ()) if not tensor.get("optional")]
    # Zeros as a shape, and a ragged batch, are values some models cannot take.
    is_safe = not any(tensor.get("is_shape_tensor") or tensor.get("allow_ragged_batch") for tensor in needed)
    return needed if is_plain and is_safe else []


def told_sizes(document: Mapping[str, Any]) -> dict[str, list[int]]:
    """The dims of each input in the configuration's own first warm-up: what a usual request of the model has."""
    entries: Iterable[Mapping[str, Any]] = document.get("model_warmup", ())
    entry: Mapping[str, Any] = next((one for one in entries if one.get("inputs")), {})
    return {str(name): list(tensor.get("dims", ())) for name, tensor in entry.get("inputs", {}).items()}


def _shape(tensor: Mapping[str, Any], sizes: Mapping[str, list[int]]) -> list[int]:
    """The dims, with those that vary as they were told, else 1."""
    dims = list(tensor.get("dims", ()))
    told = sizes.get(str(tensor["name"]), [])
    told = told if len(told) == len(dims) else [1] * len(dims)
    return [max(1, usual) if size < 0 else size for size, usual in zip(dims, told, strict=True)]


def entry_bytes(entry: Mapping[str, Any]) -> int:
    """What one warm-up entry makes a server hold at once, in bytes."""
    batch: int = max(1, entry.get("batch_size", 0))
    return batch * _total(entry.get("inputs", {}).values())


def _total(inputs: Iterable[Mapping[str, Any]]) -> int:
    return sum(math.prod(abs(size) for size in each.get("dims", ())) * _item_bytes(each) for each in inputs)


def _item_bytes(tensor: Mapping[str, Any]) -> int:
    name = datatype(tensor.get("data_type", ""))
    dtype = triton_to_np_dtype(name)
    return STRING_BYTES if name == "BYTES" or dtype is None else np.dtype(dtype).itemsize


def _zeros(name: str, of: str, shape: list[int]) -> Tensor:
    if of == "BYTES":
        return Tensor(name, of, np.full(shape, b"", dtype=np.object_))
    dtype = np.float32 if of == "BF16" else triton_to_np_dtype(of)
    return Tensor(name, of, np.zeros(shape, dtype=dtype))
