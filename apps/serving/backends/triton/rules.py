"""What any configuration must keep beyond its grammar; of a broken one the server says only "failed to poll"."""

import re
from collections.abc import Iterator
from typing import Any

from apps.serving.errors import ConfigUnparsable
from apps.serving.preflight import Fault, ReadingRule

# A file's name reaches the server's shell; no name may lead out of the directory it is looked for in.
_FILENAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")

# A python instance is a process of its own: as many as a number can say take the whole machine down.
MOST_INSTANCES = 256


def check(message: Any) -> None:
    """Nothing, or ConfigUnparsable naming the rule and the field."""
    for rule in READING_RULES:
        for fault in rule.check(message):
            raise ConfigUnparsable(fault.message, hint=rule.mend, rule=rule.id, field=fault.field)


def _batch(message: Any) -> Iterator[Fault]:
    if message.max_batch_size < 0:
        yield Fault(f"max_batch_size {message.max_batch_size} is negative", "max_batch_size")


def _names(message: Any) -> Iterator[Fault]:
    for field, kind in (("backend", "name"), ("runtime", "name"), ("default_model_filename", "file name")):
        word = getattr(message, field)
        if word and not _FILENAME.fullmatch(word):
            yield Fault(f"{field} {word[:140]!r} is not a plain {kind}", field)


def _instances(message: Any) -> Iterator[Fault]:
    instances = sum(max(1, group.count) * max(1, len(group.gpus)) for group in message.instance_group)
    if instances > MOST_INSTANCES:
        yield Fault(f"instance_group asks for {instances:,} instances, the limit is {MOST_INSTANCES}", "instance_group")


def _tensors(message: Any) -> Iterator[tuple[str, str, Any]]:
    """(`input` or `output`, what to call it, tensor) for each."""
    for kind in ("input", "output"):
        for tensor in getattr(message, kind):
            yield kind, f"{kind} {tensor.name[:140]!r}", tensor


def _doubled(message: Any) -> Iterator[Fault]:
    seen: set[tuple[str, str]] = set()
    for kind, what, tensor in _tensors(message):
        if not tensor.name or (kind, tensor.name) in seen:
            yield Fault(f"{what}: each {kind} needs a name of its own", kind)
        seen.add((kind, tensor.name))


def _datatype(message: Any) -> Iterator[Fault]:
    for kind, what, tensor in _tensors(message):
        if tensor.data_type == 0:
            yield Fault(f"{what} has no data_type", kind)


def _dims(message: Any) -> Iterator[Fault]:
    for kind, what, tensor in _tensors(message):
        if not tensor.dims and not tensor.HasField("reshape"):
            yield Fault(f"{what} has no dims", kind)
        elif any(size == 0 or size < -1 for size in tensor.dims):
            yield Fault(f"{what}: each of dims must be 1 or more, or -1", kind)


READING_RULES = (
    ReadingRule(
        "batch-size",
        "max_batch_size is 0 or more.",
        "The server refuses a negative one.",
        "Write 0 for a model that does not batch.",
        _batch,
    ),
    ReadingRule(
        "plain-names",
        "backend, runtime and default_model_filename are plain names.",
        "They become part of a path, and of a command, on the server.",
        "Use letters, digits, '_', '.' and '-' only.",
        _names,
    ),
    ReadingRule(
        "instances",
        f"There are at most {MOST_INSTANCES} instances.",
        "Each instance holds the model once more, a python one in a process of its own: too many end the machine.",
        "Lower count; on several GPUs it counts for each.",
        _instances,
    ),
    ReadingRule(
        "duplicate-tensors",
        "Each input, and each output, has a name of its own.",
        "Requests name their tensors; the server refuses a name that stands for two.",
        "Give each one another name.",
        _doubled,
    ),
    ReadingRule(
        "datatype",
        "Each tensor has a data_type.",
        "The server refuses a tensor whose type it does not know.",
        "Write data_type: TYPE_FP32 or another.",
        _datatype,
    ),
    ReadingRule(
        "dims",
        "Each tensor has dims, every one of them 1 or more, or -1.",
        "The server refuses others; -1 stands for a size that varies.",
        "Write dims without the batch dimension, [ 1 ] for a scalar.",
        _dims,
    ),
)
