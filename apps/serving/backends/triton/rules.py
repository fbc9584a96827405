"""Rules of a configuration beyond its grammar; of a broken one the server says only "failed to poll"."""

import re
from typing import Any

from apps.serving.errors import ConfigUnparsable

# A file's name reaches the server's shell; no name may lead out of the directory it is looked for in.
_FILENAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")

# A python instance is a process of its own: as many as a number can say take the whole machine down.
MOST_INSTANCES = 256


def check(message: Any) -> None:
    """Nothing, or ConfigUnparsable naming the field."""
    if message.max_batch_size < 0:
        raise ConfigUnparsable(f"max_batch_size {message.max_batch_size} is negative", field="max_batch_size")
    for field in ("backend", "runtime"):
        word = getattr(message, field)
        if word and not _FILENAME.fullmatch(word):
            raise ConfigUnparsable(f"{field} {word[:140]!r} is not a plain name", field=field)
    filename = message.default_model_filename
    if filename and not _FILENAME.fullmatch(filename):
        raise ConfigUnparsable(
            f"default_model_filename {filename[:140]!r} is not a plain file name", field="default_model_filename"
        )
    instances = sum(max(1, group.count) * max(1, len(group.gpus)) for group in message.instance_group)
    if instances > MOST_INSTANCES:
        raise ConfigUnparsable(
            f"instance_group asks for {instances:,} instances, the limit is {MOST_INSTANCES}", field="instance_group"
        )
    for kind, tensors in (("input", message.input), ("output", message.output)):
        _check_tensors(kind, tensors)


def _check_tensors(kind: str, tensors: Any) -> None:
    seen: set[str] = set()
    for tensor in tensors:
        what = f"{kind} {tensor.name[:140]!r}"
        if not tensor.name or tensor.name in seen:
            raise ConfigUnparsable(f"{what}: each {kind} needs a name of its own", field=kind)
        if tensor.data_type == 0:
            raise ConfigUnparsable(f"{what} has no data_type", field=kind)
        if not tensor.dims and not tensor.HasField("reshape"):
            raise ConfigUnparsable(f"{what} has no dims", field=kind)
        if any(size == 0 or size < -1 for size in tensor.dims):
            raise ConfigUnparsable(f"{what}: each of dims must be 1 or more, or -1", field=kind)
        seen.add(tensor.name)
