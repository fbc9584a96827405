"""Sample tensors between JSON and arrays, and whether an answer is the expected one. Pure.

An entry is {name, datatype, shape, data}: the shape as it goes over the wire, batch dimension
included; `data` flat or nested, row by row. Of BYTES a value is text, or {"b64": "..."} where it is none. An expected
output may carry `atol` and `rtol`, or `compare: "label"`: then the largest value's place along the last axis counts.
"""

import base64
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.common.text import printable
from apps.registry.errors import SampleInvalid
from apps.serving.protocol import Tensor

INTEGERS: dict[str, Any] = {
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "UINT8": np.uint8,
    "UINT16": np.uint16,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
}
# BF16 travels as float32 in Conch; the adapter narrows it.
FLOATS: dict[str, Any] = {"FP16": np.float16, "BF16": np.float32, "FP32": np.float32, "FP64": np.float64}
DATATYPES = ("BOOL", *INTEGERS, *FLOATS, "BYTES")

MAX_TENSORS = 64
MAX_RANK = 16
MAX_ELEMENTS = 1_000_000
MAX_NAME_CHARS = 255
SHOWN_BYTES = 2_000
COMPARISONS = ("values", "label")
DEFAULT_ATOL, DEFAULT_RTOL = 1e-5, 1e-3


def clean_entries(entries: Any, *, what: str, are_expected: bool = False) -> list[dict[str, Any]]:
    """The entries with flat data and, for expected ones, tolerances; SampleInvalid says which is wrong."""
    if not isinstance(entries, list | tuple) or len(entries) > MAX_TENSORS:
        raise SampleInvalid(f"{what} is not a list of at most {MAX_TENSORS} tensors", field=what)
    cleaned = [_clean(entry, f"{what}[{position}]", are_expected) for position, entry in enumerate(entries)]
    names = [entry["name"] for entry in cleaned]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SampleInvalid(f"{what}: {twice[0]!r} is there twice", field=what)
    return cleaned


def _clean(entry: Any, where: str, is_expected: bool) -> dict[str, Any]:  # noqa: FBT001
    if not isinstance(entry, Mapping):
        raise SampleInvalid(f"{where} is not an object", field=where)
    more = ("atol", "rtol", "compare") if is_expected else ()
    strange = set(entry) - {"name", "datatype", "shape", "data", *more}
    if strange:
        raise SampleInvalid(f"{where} has no field {printable(str(min(strange)), limit=60)!r}", field=where)
    name, datatype = entry.get("name"), entry.get("datatype")
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_CHARS or printable(name) != name:
        raise SampleInvalid(f"{where}.name is not a tensor's name", field=f"{where}.name")
    if datatype not in DATATYPES:
        raise SampleInvalid(f"{where}.datatype is not one of {', '.join(DATATYPES)}", field=f"{where}.datatype")
    shape = _clean_shape(entry.get("shape"), where)
    data = _clean_data(entry.get("data"), str(datatype), shape, where)
    cleaned = {"name": name, "datatype": datatype, "shape": shape, "data": data}
    return cleaned | clean_tolerances(entry, str(datatype), where) if is_expected else cleaned


def _clean_shape(shape: Any, where: str) -> list[int]:
    is_list = isinstance(shape, list | tuple) and len(shape) <= MAX_RANK
    if not is_list or not all(type(size) is int and 0 <= size <= MAX_ELEMENTS for size in shape):
        raise SampleInvalid(f"{where}.shape is not a list of sizes", field=f"{where}.shape")
    if math.prod(shape) > MAX_ELEMENTS:
        raise SampleInvalid(f"{where}.shape has more than {MAX_ELEMENTS:,} values", field=f"{where}.shape")
    return list(shape)


def _clean_data(data: Any, datatype: str, shape: list[int], where: str) -> list[Any]:
    values = list(_flat(data, where))
    if len(values) != math.prod(shape):
        raise SampleInvalid(
            f"{where}.data has {len(values):,} values, its shape {shape} needs {math.prod(shape):,}",
            hint="The shape is the one on the wire: with the batch dimension in front where the model batches.",
            field=f"{where}.data",
        )
    for position, value in enumerate(values):
        if not _fits(value, datatype):
            shown = printable(repr(value), limit=60)
            raise SampleInvalid(f"{where}.data[{position}] = {shown} is no {datatype}", field=f"{where}.data")
    return values


def _flat(data: Any, where: str, depth: int = 0) -> Iterator[Any]:
    if not isinstance(data, list | tuple) or depth > MAX_RANK:
        raise SampleInvalid(f"{where}.data is not a list of values", field=f"{where}.data")
    for value in data:
        if isinstance(value, list | tuple):
            yield from _flat(value, where, depth + 1)
        else:
            yield value


def _fits(value: Any, datatype: str) -> bool:
    if datatype == "BOOL":
        return isinstance(value, bool)
    if datatype == "BYTES":
        return (isinstance(value, str) and "\x00" not in value) or _is_base64(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if datatype in INTEGERS:
        bounds = np.iinfo(INTEGERS[datatype])
        return isinstance(value, int) and int(bounds.min) <= value <= int(bounds.max)
    return _is_finite(value, datatype)


def _is_base64(value: Any) -> bool:
    if not isinstance(value, Mapping) or set(value) != {"b64"} or not isinstance(value["b64"], str):
        return False
    try:
        base64.b64decode(value["b64"], validate=True)
    except ValueError:
        return False
    return True


def _is_finite(value: float, datatype: str) -> bool:
    """JSON has no infinity, and a value beyond the datatype's range would become one."""
    try:
        return abs(float(value)) <= float(np.finfo(FLOATS[datatype]).max)
    except OverflowError:
        return False


def clean_tolerances(entry: Mapping[str, Any], datatype: str, where: str) -> dict[str, Any]:
    """How an output of that datatype is compared; what is not a float is compared exactly, or by its label."""
    compare = entry.get("compare", "values")
    if compare not in COMPARISONS:
        raise SampleInvalid(f"{where}.compare is not one of {', '.join(COMPARISONS)}", field=f"{where}.compare")
    if compare == "label":
        return {"compare": compare}
    return _tolerances(entry, where) if datatype in FLOATS else {}


def _tolerances(entry: Mapping[str, Any], where: str) -> dict[str, float]:
    found = {"atol": entry.get("atol", DEFAULT_ATOL), "rtol": entry.get("rtol", DEFAULT_RTOL)}
    for name, value in found.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value < math.inf:
            raise SampleInvalid(f"{where}.{name} is not a number from 0", field=f"{where}.{name}")
    return found


def to_tensors(entries: Sequence[Mapping[str, Any]]) -> list[Tensor]:
    """Kept entries as tensors to send."""
    return [Tensor(name=entry["name"], datatype=entry["datatype"], array=to_array(entry)) for entry in entries]


def to_array(entry: Mapping[str, Any]) -> NDArray[Any]:
    """One entry's values in its shape; BYTES as bytes objects."""
    datatype, shape = entry["datatype"], entry["shape"]
    if datatype == "BYTES":
        values = np.empty(len(entry["data"]), dtype=np.object_)
        values[:] = [
            value.encode() if isinstance(value, str) else base64.b64decode(value["b64"]) for value in entry["data"]
        ]
        return values.reshape(shape)
    kinds = {"BOOL": np.bool_, **INTEGERS, **FLOATS}
    return np.array(entry["data"], dtype=kinds[datatype]).reshape(shape)


def entry_of(name: str, datatype: str, array: NDArray[Any]) -> dict[str, Any]:
    """An array as an entry that `to_array` makes the same array of; SampleInvalid where JSON cannot hold it."""
    values = [_kept(value) for value in array.reshape(-1).tolist()]
    return _clean(
        {"name": name, "datatype": datatype, "shape": list(array.shape), "data": values}, name, is_expected=False
    )


def _kept(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = "\x00"
    return {"b64": base64.b64encode(value).decode()} if "\x00" in text else text


def whole_entry(tensor: Tensor) -> dict[str, Any]:
    """A tensor as an entry, the way back from `to_tensors`."""
    values = [_plain(value) for value in tensor.array.reshape(-1).tolist()]
    return {"name": tensor.name, "datatype": tensor.datatype, "shape": list(tensor.array.shape), "data": values}


def to_entry(name: str, array: NDArray[Any], *, most_values: int) -> dict[str, Any]:
    """An answer's output as an entry with its first values; what is no finite number is told as a word."""
    flat = array.reshape(-1)[:most_values]
    return {
        "name": printable(name, limit=MAX_NAME_CHARS),
        "datatype": datatype_of(array),
        "shape": list(array.shape),
        "data": [_plain(value) for value in flat.tolist()],
        "is_cut": array.size > most_values,
    }


def datatype_of(array: NDArray[Any]) -> str:
    """BF16 is float32 here, and so is told as FP32."""
    kinds = {np.dtype(kind): name for name, kind in {"BOOL": np.bool_, **INTEGERS, **FLOATS}.items() if name != "BF16"}
    return kinds.get(array.dtype, "BYTES")


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return printable(value.decode(errors="replace"), limit=SHOWN_BYTES)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, bool | int | float) else printable(str(value), limit=SHOWN_BYTES)
