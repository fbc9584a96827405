"""ONNX models as bytes, written field by field."""

from collections.abc import Iterable, Sequence

FLOAT, INT64, STRING = 1, 7, 8


def varint(value: int) -> bytes:
    """A protobuf varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, content: bytes | int) -> bytes:
    """A varint or a length-delimited field."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def tensor(name: str, element: int, dims: Sequence[int | str] | None) -> bytes:
    """A ValueInfoProto; a dim is a number or a name, no dims at all is an unknown rank."""
    shape = b""
    if dims is not None:
        each = [field(1, field(1, dim) if isinstance(dim, int) else field(2, dim.encode())) for dim in dims]
        shape = field(2, b"".join(each))
    return field(1, name.encode()) + field(2, field(1, field(1, element) + shape))


def onnx_model(
    inputs: Iterable[bytes], outputs: Iterable[bytes], *, weights: Iterable[str] = (), size: int = 0
) -> bytes:
    """A ModelProto with these inputs, outputs and initializers of `size` bytes each."""
    graph = [field(2, b"graph"), *(field(5, field(9, bytes(size)) + field(8, name.encode())) for name in weights)]
    graph += [*(field(11, one) for one in inputs), *(field(12, one) for one in outputs)]
    return field(1, 8) + field(2, b"test") + field(7, b"".join(graph)) + field(8, field(2, 17))


def classifier() -> bytes:
    """pixels float [batch, 64] to label int64 [batch]."""
    return onnx_model([tensor("pixels", FLOAT, ["n", 64])], [tensor("label", INT64, ["n"])], weights=["w"], size=100)
