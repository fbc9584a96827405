"""Whether an answer is the expected one. Pure."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.common.text import printable
from apps.registry.samples import DEFAULT_ATOL, DEFAULT_RTOL, FLOATS, to_array


def matches(expected: Mapping[str, Any], array: NDArray[Any]) -> str | None:
    """What is different from the expected output, None when nothing is.

    Floats within atol + rtol * |expected|, or by label; integers, booleans and BYTES exactly.
    """
    name = expected["name"]
    wanted = to_array(expected)
    if tuple(array.shape) != wanted.shape:
        return f"{name}: the shape is {list(array.shape)}, expected {list(wanted.shape)}"
    if expected.get("compare") == "label":
        return _label_difference(expected, wanted, array)
    if expected["datatype"] in FLOATS:
        return _float_difference(expected, wanted, array)
    got = _as_bytes(array) if expected["datatype"] == "BYTES" else array
    return _difference(name, wanted, got, np.asarray(wanted != got, dtype=np.bool_))


def _float_difference(expected: Mapping[str, Any], wanted: NDArray[Any], got: NDArray[Any]) -> str | None:
    if not np.issubdtype(got.dtype, np.number):
        return f"{expected['name']}: the answer is no {expected['datatype']}"
    atol, rtol = expected.get("atol", DEFAULT_ATOL), expected.get("rtol", DEFAULT_RTOL)
    wanted, got = wanted.astype(np.float64), got.astype(np.float64)
    is_off = ~np.isclose(got, wanted, atol=atol, rtol=rtol)
    return _difference(expected["name"], wanted, got, is_off, within=f" (atol {atol:g}, rtol {rtol:g})")


def _label_difference(expected: Mapping[str, Any], wanted: NDArray[Any], got: NDArray[Any]) -> str | None:
    """Of floats the place of the largest along the last axis; anything else is a label itself."""
    name = expected["name"]
    if expected["datatype"] not in FLOATS:
        got = _as_bytes(got) if expected["datatype"] == "BYTES" else got
        return _difference(name, wanted, got, np.asarray(wanted != got, dtype=np.bool_))
    if not np.issubdtype(got.dtype, np.number) or np.isnan(got.astype(np.float64)).any():
        return f"{name}: the answer holds values that are no numbers"
    labels, answered = (np.asarray(np.argmax(np.atleast_1d(values), axis=-1)) for values in (wanted, got))
    return _difference(name, labels, answered, np.asarray(labels != answered, dtype=np.bool_), within=" (label)")


def _difference(
    name: str, wanted: NDArray[Any], got: NDArray[Any], is_off: NDArray[np.bool_], within: str = ""
) -> str | None:
    if not is_off.any():
        return None
    first = tuple(int(position) for position in np.argwhere(is_off)[0])
    shown = f"at {list(first)} it is {_shown(got[first])}, expected {_shown(wanted[first])}"
    return f"{name}: {int(is_off.sum()):,} of {is_off.size:,} values differ; {shown}{within}"


def _shown(value: Any) -> str:
    if isinstance(value, bytes):
        return printable(repr(value.decode(errors="replace")), limit=80)
    return f"{value:.6g}" if isinstance(value, float | np.floating) else printable(str(value), limit=80)


def _as_bytes(array: NDArray[Any]) -> NDArray[Any]:
    flat = np.empty(array.size, dtype=np.object_)
    flat[:] = [value if isinstance(value, bytes) else str(value).encode() for value in array.reshape(-1).tolist()]
    return flat.reshape(array.shape)
