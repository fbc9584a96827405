"""Rules of inputs and outputs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from apps.common.text import printable
from apps.serving.preflight import Fault, Rule, Severity, Subject

IMAGE_DIMS = 3
VARIABLE = -1
TENSORRT = ("tensorrt", "tensorrt_plan")


def tensors(subject: Subject) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(`input` or `output`, tensor) for each."""
    for side in ("input", "output"):
        for tensor in subject.get(side, ()):
            yield side, tensor


def shown(name: object) -> str:
    """A name out of a file, as messages quote it."""
    return repr(printable(str(name), limit=100))


def is_tensorrt(subject: Subject) -> bool:
    """Whether the model is a TensorRT plan."""
    return bool(subject.get("backend") == TENSORRT[0] or subject.get("platform") == TENSORRT[1])


def _names(subject: Subject) -> Iterator[Fault]:
    for side, tensor in tensors(subject):
        name = str(tensor.get("name", ""))
        if name != name.strip() or not name.isprintable():
            yield Fault(f"{side} {shown(name)} has blanks around it or characters that cannot be seen", side)


def _missing(subject: Subject) -> Iterator[Fault]:
    for side in ("input", "output"):
        if not subject.get(side):
            yield Fault(f"the configuration names no {side}: the server has to find out, and Conch cannot", side)


def _image(subject: Subject) -> Iterator[Fault]:
    for tensor in subject.get("input", ()):
        layout = tensor.get("format", "FORMAT_NONE")
        if layout != "FORMAT_NONE" and len(tensor.get("dims", ())) != IMAGE_DIMS:
            yield Fault(
                f"input {shown(tensor.get('name'))} has {layout}, which means {IMAGE_DIMS} dims, "
                f"and {len(tensor.get('dims', ()))} are given",
                "input.format",
            )


def _reshape(subject: Subject) -> Iterator[Fault]:
    is_batched = subject.get("max_batch_size", 0) > 0
    for side, tensor in tensors(subject):
        if "reshape" not in tensor:
            continue
        dims, shape = tensor.get("dims", ()), tensor["reshape"].get("shape", ())
        what = f"{side} {shown(tensor.get('name'))}"
        if not dims:
            yield Fault(f"{what} has no dims: reshape does not stand for them", f"{side}.dims")
        elif not shape and not is_batched:
            yield Fault(f"{what}: an empty reshape needs max_batch_size above 0", f"{side}.reshape")
        elif any(size == 0 or size < VARIABLE for size in shape):
            yield Fault(f"{what}: each of reshape's shape must be 1 or more, or -1", f"{side}.reshape")
        elif _counts(dims) != _counts(shape):
            yield Fault(f"{what}: dims {list(dims)} cannot be reshaped to {list(shape)}", f"{side}.reshape")


def _counts(dims: Sequence[int]) -> list[int]:
    """Elements between the variable dimensions, which must agree pair by pair."""
    runs = [(is_variable, list(run)) for is_variable, run in groupby(dims, key=lambda size: size == VARIABLE)]
    counts = [1]
    for is_variable, run in runs:
        if is_variable:
            counts += [1] * len(run)
        else:
            counts[-1] = math.prod(run)
    return counts


def _only_tensorrt(subject: Subject) -> Iterator[Fault]:
    if is_tensorrt(subject):
        return
    for side, tensor in tensors(subject):
        for field in ("is_shape_tensor", "is_non_linear_format_io"):
            if tensor.get(field):
                yield Fault(f"{side} {shown(tensor.get('name'))} has {field}", f"{side}.{field}")


def _labels(subject: Subject) -> Iterator[Fault]:
    for tensor in subject.get("output", ()):
        wanted = tensor.get("label_filename")
        if wanted and f"shared/{wanted}" not in (subject.files or {}):
            yield Fault(
                f"output {shown(tensor.get('name'))} takes its labels from {shown(wanted)}, "
                "which is not beside config.pbtxt",
                "output.label_filename",
            )


def _ragged(subject: Subject) -> Iterator[Fault]:
    if subject.get("max_batch_size", 0) == 0:
        for tensor in subject.get("input", ()):
            if tensor.get("allow_ragged_batch"):
                yield Fault(
                    f"input {shown(tensor.get('name'))} allows ragged batches, and nothing is batched",
                    "input.allow_ragged_batch",
                )


RULES = (
    Rule(
        "tensor-names",
        Severity.WARNING,
        "A tensor's name can be seen whole.",
        "Clients copy names by eye; one with a blank at its end is asked for without it and refused.",
        "Take the blanks and control characters out of the name.",
        _names,
    ),
    Rule(
        "tensors-missing",
        Severity.NOTE,
        "Inputs and outputs are named.",
        "Some backends complete them from the model's file. Conch cannot, so it neither makes warm-up requests nor "
        "notices that an interface changes.",
        "Write input and output into config.pbtxt.",
        _missing,
    ),
    Rule(
        "image-format",
        Severity.ERROR,
        "An image format has three dims.",
        "The server refuses FORMAT_NHWC and FORMAT_NCHW with another number of dims (the batch is not counted).",
        "Give three dims, or leave the format out.",
        _image,
    ),
    Rule(
        "reshape",
        Severity.ERROR,
        "A reshape holds as many elements as its dims.",
        "The server refuses the configuration: dims and reshape must agree between their variable dimensions.",
        "Make the products of dims and reshape equal; an empty reshape needs dims [ 1 ] and batching.",
        _reshape,
    ),
    Rule(
        "tensorrt-only",
        Severity.ERROR,
        "Shape tensors and non-linear formats are TensorRT's alone.",
        "The server refuses them for any other backend.",
        'Remove the field, or serve the model with backend "tensorrt".',
        _only_tensorrt,
    ),
    Rule(
        "label-file",
        Severity.ERROR,
        "A label file is there.",
        "The server opens it while loading; without it the load fails.",
        "Put the file beside config.pbtxt, not into the version directory, or leave label_filename out.",
        _labels,
        needs=("files",),
    ),
    Rule(
        "ragged-without-batch",
        Severity.WARNING,
        "Ragged batches need batching.",
        "With max_batch_size 0 every request runs alone, so the field does nothing.",
        "Set max_batch_size, or leave allow_ragged_batch out.",
        _ragged,
    ),
)
