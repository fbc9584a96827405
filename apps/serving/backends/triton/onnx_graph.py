"""An ONNX model's inputs and outputs, read from its protobuf without reading its weights.

The file is walked field by field with seeks: the weights, which may be gigabytes, are stepped over. The numbers
are those of onnx.proto3 (IR version 3 and later).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from apps.serving.errors import ConfigUnparsable

GRAPH, INITIALIZER, INPUT, OUTPUT = 7, 5, 11, 12
NAME, TYPE, TENSOR_NAME = 1, 2, 8
VARINT, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5
MOST_NAMES = 100_000
MOST_NAME_BYTES = 1_000
MOST_FIELDS = 5_000_000
DATATYPES = {
    1: "TYPE_FP32", 2: "TYPE_UINT8", 3: "TYPE_INT8", 4: "TYPE_UINT16", 5: "TYPE_INT16", 6: "TYPE_INT32",
    7: "TYPE_INT64", 8: "TYPE_STRING", 9: "TYPE_BOOL", 10: "TYPE_FP16", 11: "TYPE_FP64", 12: "TYPE_UINT32",
    13: "TYPE_UINT64", 16: "TYPE_BF16",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class GraphTensor:
    """One input or output of a graph: the datatype as Triton names it, dims with -1 where they vary."""

    name: str
    datatype: str
    dims: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """What a model takes and gives; weights that are listed as inputs are not among them."""

    inputs: tuple[GraphTensor, ...]
    outputs: tuple[GraphTensor, ...]


class _Unreadable(ValueError):
    pass


@dataclass(frozen=True, slots=True)
class _Field:
    """One field: its number, and where its bytes lie, or its value."""

    number: int
    start: int
    end: int
    value: int = 0


def read_graph(file: BinaryIO) -> Graph:
    """The graph of the model in `file`; ConfigUnparsable when it is no ONNX model that Conch understands."""
    try:
        return _read(file)
    except _Unreadable as error:
        raise ConfigUnparsable(f"the ONNX model cannot be read: {error}", field="file") from error


def _read(file: BinaryIO) -> Graph:
    size = file.seek(0, 2)
    graph = next((field for field in _fields(file, 0, size) if field.number == GRAPH and field.end), None)
    if graph is None:
        raise _Unreadable("there is no graph in it")
    weights: set[str] = set()
    inputs: list[GraphTensor] = []
    outputs: list[GraphTensor] = []
    for field in _fields(file, graph.start, graph.end):
        if field.number == INITIALIZER:
            weights.add(_text(file, field, TENSOR_NAME))
        elif field.number in (INPUT, OUTPUT):
            (inputs if field.number == INPUT else outputs).append(_tensor(file, field))
        if len(weights) + len(inputs) + len(outputs) > MOST_NAMES:
            raise _Unreadable(f"it has more than {MOST_NAMES:,} tensors")
    if not outputs:
        raise _Unreadable("its graph has no output")
    return Graph(tuple(one for one in inputs if one.name not in weights), tuple(outputs))


def _fields(file: BinaryIO, start: int, end: int) -> Iterator[_Field]:
    """The fields between two places, each skipped over unless it is looked into."""
    at = start
    for _ in range(MOST_FIELDS):
        if at >= end:
            return
        file.seek(at)
        field = _field(file, end)
        yield field
        at = field.end or field.start
    raise _Unreadable("it has too many parts")


def _field(file: BinaryIO, end: int) -> _Field:
    tag = _varint(file)
    number, wire = tag >> 3, tag & 7
    if wire == VARINT:
        value = _varint(file)
        return _Field(number, file.tell(), 0, value)
    lengths = {FIXED64: 8, FIXED32: 4}
    length = _varint(file) if wire == DELIMITED else lengths.get(wire)
    start = file.tell()
    if length is None or start + length > end or not number:
        raise _Unreadable(f"it is damaged or cut off at byte {start}")
    return _Field(number, start, start + length)


def _varint(file: BinaryIO) -> int:
    value = 0
    for shift in range(0, 70, 7):
        byte = file.read(1)
        if not byte:
            raise _Unreadable("it is cut off")
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:  # noqa: PLR2004
            return value & (2**64 - 1)
    raise _Unreadable(f"it is damaged at byte {file.tell()}")


def _inner(file: BinaryIO, outer: _Field, number: int) -> _Field | None:
    return next((one for one in _fields(file, outer.start, outer.end) if one.number == number), None)


def _text(file: BinaryIO, outer: _Field, number: int) -> str:
    found = _inner(file, outer, number)
    if found is None or found.end - found.start > MOST_NAME_BYTES:
        raise _Unreadable("a tensor has no name, or one that is too long")
    file.seek(found.start)
    try:
        return file.read(found.end - found.start).decode()
    except UnicodeDecodeError as error:
        raise _Unreadable("a tensor's name is no UTF-8") from error


def _tensor(file: BinaryIO, field: _Field) -> GraphTensor:
    """From a ValueInfoProto: its name and, inside its type, the element type and the shape."""
    name = _text(file, field, NAME)
    kind = _inner(file, field, TYPE)
    tensor = _inner(file, kind, 1) if kind and kind.end else None
    if tensor is None or not tensor.end:
        raise _Unreadable(f"{name!r} is no tensor but a sequence, a map or an optional value")
    element = _inner(file, tensor, 1)
    datatype = DATATYPES.get(element.value if element else 0)
    shape = _inner(file, tensor, 2)
    if datatype is None:
        raise _Unreadable(f"{name!r} has the element type {element.value if element else 0}, which Triton lacks")
    if shape is None:
        raise _Unreadable(f"{name!r} does not tell how many dimensions it has")
    dims = tuple(_dim(file, one) for one in _fields(file, shape.start, shape.end) if one.number == 1)
    return GraphTensor(name, datatype, dims)


def _dim(file: BinaryIO, field: _Field) -> int:
    value = _inner(file, field, 1)
    return value.value if value is not None and 0 < value.value < 2**63 else -1
