"""Tensors from NumPy's .npz and .npy files. Pure; nothing in a file is ever executed."""

import io
import math
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from apps.common.text import printable
from apps.registry.errors import SampleInvalid
from apps.registry.samples import FLOATS, INTEGERS, MAX_ELEMENTS, MAX_TENSORS, entry_of

MAX_FILE_BYTES = 64 * 2**20
MAX_ITEM_BYTES = 1 << 16
_DATATYPES = {np.dtype(kind): name for name, kind in {"BOOL": np.bool_, **INTEGERS, **FLOATS}.items() if name != "BF16"}


def read(content: bytes, *, specs: Sequence[Mapping[str, Any]], what: str) -> list[dict[str, Any]]:
    """The arrays of a .npz as entries, by name; of a .npy, which has no names, as the version's only tensor.

    `specs` are those of a version, if one is known: float32 for a BF16 tensor is sent as such, and text as BYTES.
    """
    if len(content) > MAX_FILE_BYTES:
        raise SampleInvalid(f"{what}: the file has more than {MAX_FILE_BYTES:,} bytes", field=what)
    wanted = {str(spec["name"]): str(spec["datatype"]) for spec in specs}
    try:
        arrays = _arrays(content, wanted, what)
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        said = printable(str(error), limit=200)
        raise SampleInvalid(
            f"{what}: this is no .npz that can be read: {said}",
            hint="Save it with numpy.savez(file, name=array); arrays of objects are not read.",
            field=what,
        ) from error
    return [_entry(name, array, wanted.get(name, ""), what) for name, array in arrays.items()]


def _arrays(content: bytes, wanted: Mapping[str, str], what: str) -> dict[str, NDArray[Any]]:
    if content[:6] == npy.MAGIC_PREFIX:
        if len(wanted) != 1:
            raise SampleInvalid(f"{what}: a .npy has no names: give a .npz with an array for each tensor", field=what)
        return {next(iter(wanted)): _array(io.BytesIO(content), next(iter(wanted)), what)}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if len(members) > MAX_TENSORS:
            raise SampleInvalid(f"{what}: the file has more than {MAX_TENSORS} arrays", field=what)
        if sum(member.file_size for member in members) > MAX_FILE_BYTES:
            raise SampleInvalid(f"{what}: more than {MAX_FILE_BYTES:,} bytes come out of the file", field=what)
        found = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            with archive.open(member) as opened:
                found[name] = _array(io.BytesIO(opened.read(MAX_FILE_BYTES)), name, what)
        return found


def _array(source: io.BytesIO, name: str, what: str) -> NDArray[Any]:
    """The header is read first: what it promises is what would be allocated."""
    version = npy.read_magic(source)
    shape, _, dtype = (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(source)
    if math.prod(shape) > MAX_ELEMENTS or dtype.itemsize > MAX_ITEM_BYTES:
        raise SampleInvalid(f"{what}: {name[:80]!r} has more than {MAX_ELEMENTS:,} values", field=what)
    source.seek(0)
    array: NDArray[Any] = npy.read_array(source, allow_pickle=False)
    return array


def _entry(name: str, array: NDArray[Any], wanted: str, what: str) -> dict[str, Any]:
    if array.dtype.kind in "SU":
        flat = [value if isinstance(value, bytes) else str(value).encode() for value in array.reshape(-1).tolist()]
        held = np.empty(len(flat), dtype=np.object_)
        held[:] = flat
        return entry_of(name, "BYTES", held.reshape(array.shape))
    datatype = _DATATYPES.get(array.dtype.newbyteorder("="))
    if datatype is None:
        raise SampleInvalid(
            f"{what}: {printable(name, limit=80)!r} holds {array.dtype}, which no server takes", field=what
        )
    is_narrowed = datatype == "FP32" and wanted == "BF16"
    return entry_of(name, "BF16" if is_narrowed else datatype, array)
