"""Which release of Triton first knew a field or value of config.pbtxt; older ones refuse the whole file.

Derived by comparing `protobuf/model_config.proto` of triton-inference-server/common over its release
branches r21.05 to r26.07; a branch's version is TRITON_VERSION on the server repository's branch of that
name. What is not listed was there in 2.10 (21.05) already.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

Release = tuple[int, int]

# Message and field, or enumeration and value, by the release that brought it.
SINCE: dict[str, Release] = {
    "ModelInstanceGroup.secondary_devices": (2, 11),
    "ModelInstanceGroup.host_policy": (2, 11),
    "ModelInstanceGroup.passive": (2, 11),
    "ModelSequenceBatching.Control.bool_false_true": (2, 14),
    "ModelConfig.response_cache": (2, 15),
    "ModelSequenceBatching.state": (2, 16),
    "ModelSequenceBatching.State.initial_state": (2, 18),
    "ModelInput.optional": (2, 18),
    "BatchInput.Kind.BATCH_ITEM_SHAPE": (2, 20),
    "BatchInput.Kind.BATCH_ITEM_SHAPE_FLATTEN": (2, 20),
    "DataType.TYPE_BF16": (2, 22),
    "ModelWarmup.count": (2, 24),
    "ModelEnsembling.Step.model_namespace": (2, 32),
    "ModelSequenceBatching.StrategyOldest.preserve_ordering": (2, 37),
    "ModelSequenceBatching.iterative_sequence": (2, 40),
    "ModelSequenceBatching.State.use_same_buffer_for_input_output": (2, 40),
    "ModelSequenceBatching.State.use_growable_memory": (2, 40),
    "ModelConfig.runtime": (2, 42),
    "ModelInput.is_non_linear_format_io": (2, 49),
    "ModelOutput.is_non_linear_format_io": (2, 49),
    "ModelConfig.model_metrics": (2, 52),
    "ModelEnsembling.max_inflight_requests": (2, 63),
}
# TRITON_VERSION of each container's branch; from 20.06 on, one minor release a container (25.07 was 2.59.1).
_CONTAINERS: dict[int, str] = {
    11: "21.06", 14: "21.09", 15: "21.10", 16: "21.11", 18: "22.01", 20: "22.03", 22: "22.05", 24: "22.07",
    32: "23.03", 37: "23.08", 40: "23.11", 42: "24.01", 49: "24.08", 52: "24.11", 63: "25.11",
}  # fmt: skip
_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})(?:\.|$|[^0-9])")


@dataclass(frozen=True, slots=True)
class NewField:
    """A field or value in use, where it stands, and the release that first knew it."""

    path: str
    name: str
    since: Release

    @property
    def release(self) -> str:
        """`2.52 (container 24.11)`."""
        return f"{self.since[0]}.{self.since[1]} (container {_CONTAINERS[self.since[1]]})"


def release_of(version: str) -> Release | None:
    """`2.51.0` as a number to compare; None for what is no Triton version."""
    found = _VERSION.match(version.strip())
    return (int(found[1]), int(found[2])) if found else None


def newer_than(message: Message, release: Release) -> list[NewField]:
    """What `message` uses that a server of `release` does not know, in the file's order."""
    return [found for found in _uses(message, "") if found.since > release]


def _uses(message: Message, path: str) -> Iterator[NewField]:
    for field, value in message.ListFields():
        here = f"{path}{field.name}"
        name = _plain(field.full_name)
        if since := SINCE.get(name):
            yield NewField(here, field.name, since)
        for each in _values(field, value):
            yield from _inside(field, each, here)


def _inside(field: FieldDescriptor, value: Any, path: str) -> Iterator[NewField]:
    if isinstance(value, Message):
        yield from _uses(value, f"{path}.")
    elif field.enum_type and (known := field.enum_type.values_by_number.get(value)):
        since = SINCE.get(f"{_plain(field.enum_type.full_name)}.{known.name}")
        yield from [NewField(path, known.name, since)] if since else []


def _values(field: FieldDescriptor, value: Any) -> list[Any]:
    if not field.is_repeated:
        return [value]
    is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
    return [value[key] for key in sorted(value)] if is_map else list(value)


def _plain(full_name: str) -> str:
    return full_name.removeprefix("inference.")
