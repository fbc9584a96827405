"""Samples held against signatures, and read from NumPy's files."""

import io
import zipfile
from typing import Any

import numpy as np
import pytest

from apps.registry import npz
from apps.registry.errors import SampleInvalid
from apps.registry.fitting import misfits
from apps.registry.golden import matches
from apps.registry.samples import clean_entries, entry_of, to_array


def tensor(name: str, shape: list[int], datatype: str = "FP32") -> dict[str, Any]:
    return {"name": name, "datatype": datatype, "shape": shape}


SIGNATURE = {
    "inputs": [
        {"name": "image", "datatype": "FP32", "shape": [3, -1, -1]},
        {"name": "mask", "datatype": "BOOL", "shape": [4], "is_optional": True},
    ],
    "outputs": [{"name": "scores", "datatype": "FP32", "shape": [10]}],
    "max_batch_size": 8,
}
IMAGE = tensor("image", [2, 3, 224, 224])


@pytest.mark.parametrize("inputs", [[IMAGE], [tensor("image", [8, 3, 1, 1])], [IMAGE, tensor("mask", [2, 4], "BOOL")]])
def test_dynamic_dims_batches_and_optional_inputs_fit(inputs: list[dict[str, Any]]) -> None:
    assert misfits(inputs, [tensor("scores", [2, 10])], SIGNATURE) == []


@pytest.mark.parametrize(
    ("inputs", "outputs", "says"),
    [
        ([tensor("img", [1, 3, 2, 2])], [], "there is no input 'img', only image, mask"),
        ([tensor("mask", [1, 4], "BOOL")], [], "input 'image' is missing"),
        ([tensor("image", [1, 3, 2, 2], "FP16")], [], "is FP16, the version has FP32"),
        ([tensor("image", [3, 224, 224])], [], "has the shape [3, 224, 224], the version has [batch, 3, any, any]"),
        ([tensor("image", [1, 4, 2, 2])], [], "the version has [batch, 3, any, any]"),
        ([tensor("image", [9, 3, 2, 2])], [], "has a batch of 9, the version takes 1 to 8"),
        ([tensor("image", [0, 3, 2, 2])], [], "has a batch of 0"),
        ([IMAGE, tensor("mask", [1, 4], "BOOL")], [], "the inputs have batches of 1, 2: they must be alike"),
        ([IMAGE], [tensor("labels", [2])], "there is no output 'labels', only scores"),
        ([IMAGE], [tensor("scores", [2, 11])], "has the shape [2, 11], the version has [batch, 10]"),
    ],
)
def test_what_does_not_fit_says_why(inputs: list[dict[str, Any]], outputs: list[dict[str, Any]], says: str) -> None:
    assert says in "; ".join(misfits(inputs, outputs, SIGNATURE))


def test_without_batches_the_shape_is_the_dims() -> None:
    scalar = {"inputs": [{"name": "x", "datatype": "INT64", "shape": []}], "max_batch_size": 0}

    assert misfits([tensor("x", [], "INT64")], [], scalar) == []
    assert "has the shape [1], the version has []" in misfits([tensor("x", [1], "INT64")], [], scalar)[0]


def test_ragged_batches_need_not_be_alike() -> None:
    inputs = [IMAGE, tensor("mask", [1, 4], "BOOL")]

    assert misfits(inputs, [], SIGNATURE, is_ragged=True) == []


def test_a_version_that_declares_nothing_refuses_nothing() -> None:
    assert misfits([IMAGE], [tensor("any", [1])], {"inputs": [], "outputs": [], "max_batch_size": 0}) == []


def saved(**arrays: Any) -> bytes:
    kept = io.BytesIO()
    np.savez(kept, **arrays)
    return kept.getvalue()


@pytest.mark.parametrize(
    ("array", "datatype"),
    [
        (np.array([True, False]), "BOOL"),
        *((np.array([0, 1], kind), kind.upper()) for kind in ("int8", "int16", "int32", "int64")),
        *((np.array([0, 1], kind), kind.upper()) for kind in ("uint8", "uint16", "uint32", "uint64")),
        (np.array([0, 1.5], np.float16), "FP16"),
        (np.array([0, 1.5], np.float32), "FP32"),
        (np.array([0, 1.5], ">f8"), "FP64"),
        (np.array(["é", "b"]), "BYTES"),
        (np.array([b"\xff\x01", b"b"]), "BYTES"),
    ],
)
def test_an_array_of_every_datatype_comes_out_of_a_file_as_it_went_in(array: Any, datatype: str) -> None:
    (entry,) = npz.read(saved(x=array.reshape(1, 2)), specs=(), what="inputs")

    wanted = [one if isinstance(one, bytes) else str(one).encode() for one in array.tolist()]
    got = to_array(entry)
    assert (entry["name"], entry["datatype"], entry["shape"]) == ("x", datatype, [1, 2])
    assert got.reshape(-1).tolist() == (wanted if datatype == "BYTES" else array.tolist())


def test_float32_is_bf16_where_the_version_says_so() -> None:
    specs = [{"name": "x", "datatype": "BF16"}]

    assert npz.read(saved(x=np.ones(2, np.float32)), specs=specs, what="inputs")[0]["datatype"] == "BF16"


def test_a_npy_is_the_only_tensor_of_the_version() -> None:
    kept = io.BytesIO()
    np.save(kept, np.ones((1, 4), np.float32))
    only = [{"name": "x", "datatype": "FP32"}]

    assert npz.read(kept.getvalue(), specs=only, what="inputs")[0]["name"] == "x"
    with pytest.raises(SampleInvalid, match="has no names"):
        npz.read(kept.getvalue(), specs=(), what="inputs")


def lying_header() -> bytes:
    """An array that promises 10**12 values and brings none."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (10**12,)})
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w") as archive:
        archive.writestr("x.npy", header.getvalue())
    return kept.getvalue()


def bomb() -> bytes:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", bytes(npz.MAX_FILE_BYTES + 1))
    return kept.getvalue()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no .npz that can be read"),
        (b"PK\x03\x04 cut", "no .npz that can be read"),
        (saved(x=np.ones(2))[:-30], "no .npz that can be read"),
        (saved(x=np.array([{"a": 1}], dtype=object)), "no .npz that can be read"),
        (saved(x=np.ones(2, np.complex64)), "holds complex64, which no server takes"),
        (saved(x=np.array([1, np.inf], np.float32)), "no FP32"),
        (saved(x=np.zeros(1_000_001, np.int8)), "more than 1,000,000 values"),
        (lying_header(), "more than 1,000,000 values"),
        (bomb(), "bytes come out of the file"),
        (saved(**{f"x{n}": np.ones(1) for n in range(65)}), "more than 64 arrays"),
    ],
)
def test_a_hostile_or_broken_file_is_refused_in_words(content: bytes, says: str) -> None:
    with pytest.raises(SampleInvalid, match=says):
        npz.read(content, specs=(), what="inputs")


def expected(array: Any, datatype: str = "FP32", **more: Any) -> dict[str, Any]:
    entry = {"name": "y", "datatype": datatype, "shape": list(array.shape), "data": array.reshape(-1).tolist(), **more}
    return clean_entries([entry], what="outputs", are_expected=True)[0]


@pytest.mark.parametrize(
    ("wanted", "answer", "says"),
    [
        (np.array([[0.1, 0.9], [0.8, 0.2]]), np.array([[0.4, 0.6], [0.51, 0.49]]), None),
        (
            np.array([[0.1, 0.9], [0.8, 0.2]]),
            np.array([[0.4, 0.6], [0.4, 0.6]]),
            "1 of 2 values differ; at [1] it is 1",
        ),
        (np.array([0.1, 0.9]), np.array([5.0, 9.0]), None),
        (np.array([0.1, 0.9]), np.array([np.nan, 9.0]), "no numbers"),
        (np.array(0.5), np.array(7.0), None),
    ],
)
def test_by_label_only_the_largest_value_counts(wanted: Any, answer: Any, says: str | None) -> None:
    difference = matches(expected(wanted, compare="label"), answer.astype(np.float32))

    assert (difference is None) == (says is None)
    assert (says or "") in (difference or "")


def test_a_label_that_is_no_float_is_compared_exactly() -> None:
    label = expected(np.array([3]), "INT64", compare="label")

    assert matches(label, np.array([3])) is None
    assert "it is 4, expected 3" in (matches(label, np.array([4])) or "")


def test_an_unknown_comparison_is_refused() -> None:
    with pytest.raises(SampleInvalid, match="compare is not one of values, label"):
        expected(np.array([1.0]), compare="fuzzy")


def test_bytes_that_are_no_text_are_kept_as_base64() -> None:
    array = np.empty(2, dtype=np.object_)
    array[:] = [b"\xff\x00", b"text"]

    entry = entry_of("b", "BYTES", array)

    assert entry["data"] == [{"b64": "/wA="}, "text"]
    assert to_array(entry).tolist() == [b"\xff\x00", b"text"]
    with pytest.raises(SampleInvalid, match="no BYTES"):
        clean_entries([{**entry, "data": [{"b64": "no base64!"}, "x"]}], what="inputs")
