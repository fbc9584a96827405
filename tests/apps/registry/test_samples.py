"""Samples: values kept as JSON, sent as arrays, compared with answers."""

from typing import Any

import numpy as np
import pytest

from apps.common.actor import COMMAND
from apps.registry import selectors, services
from apps.registry.errors import SampleInvalid, SampleTaken, SampleUnknown
from apps.registry.golden import matches
from apps.registry.samples import DATATYPES, clean_entries, to_tensors


def entry(datatype: str = "FP32", shape: Any = (2,), data: Any = (1, 2), **more: Any) -> dict[str, Any]:
    return {"name": "x", "datatype": datatype, "shape": list(shape), "data": data, **more}


VALUES: dict[str, list[Any]] = {"BOOL": [True, False], "BYTES": ["é", ""]}


@pytest.mark.parametrize("datatype", DATATYPES)
def test_every_datatype_goes_out_as_it_came_in(datatype: str) -> None:
    values = VALUES.get(datatype, [0, 100])
    kept = clean_entries([entry(datatype, (1, 2), [values])], what="inputs", are_expected=True)

    tensors = to_tensors(kept)

    assert (tensors[0].array.shape, tensors[0].datatype, matches(kept[0], tensors[0].array)) == ((1, 2), datatype, None)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (entry("FP31"), "datatype"),
        (entry(shape=(3,)), "2 values"),
        (entry(shape=(-1,)), "sizes"),
        (entry(shape=(2_000_000, 2_000_000)), "sizes"),
        (entry(shape=(1_000, 1_001)), "more than"),
        (entry(data="12"), "not a list"),
        (entry(data=[1, "2"]), "no FP32"),
        (entry(data=[1, float("nan")]), "no FP32"),
        (entry(data=[1, float("inf")]), "no FP32"),
        (entry(data=[1, 1e39]), "no FP32"),
        (entry(data=[1, 10**400]), "no FP32"),
        (entry("FP16", data=[1, 70_000]), "no FP16"),
        (entry("INT8", data=[1, 128]), "no INT8"),
        (entry("UINT8", data=[1, -1]), "no UINT8"),
        (entry("INT64", data=[1, 1.0]), "no INT64"),
        (entry("INT32", data=[1, True]), "no INT32"),
        (entry("BOOL", data=[True, 1]), "no BOOL"),
        (entry("BYTES", data=["a", 1]), "no BYTES"),
        (entry("BYTES", data=["a", "\x00"]), "no BYTES"),
        (entry(atol=-1), "atol"),
        (entry(rtol="1"), "rtol"),
        (entry(extra=1), "'extra'"),
        (entry() | {"name": ""}, "name"),
        ("x", "object"),
    ],
)
def test_a_tensor_that_cannot_be_sent_is_refused_and_says_why(wrong: Any, says: str) -> None:
    with pytest.raises(SampleInvalid, match=says):
        clean_entries([wrong], what="outputs", are_expected=True)


def test_the_same_tensor_twice_is_refused() -> None:
    with pytest.raises(SampleInvalid, match="'x' is there twice"):
        clean_entries([entry(), entry()], what="inputs")


@pytest.mark.parametrize(
    ("expected", "answer", "says"),
    [
        (entry(atol=0.1, rtol=0), np.array([1.05, 2], np.float32), None),
        (
            entry(atol=0.01, rtol=0),
            np.array([1.05, 2], np.float32),
            "1 of 2 values differ; at [0] it is 1.05, expected 1",
        ),
        (entry(atol=0, rtol=0.1), np.array([1, 2.15], np.float32), None),
        (entry(), np.array([1, np.nan], np.float32), "at [1] it is nan"),
        (entry(), np.array([[1, 2]], np.float32), "shape is [1, 2], expected [2]"),
        (entry(), np.array([b"1", b"2"], np.object_), "no FP32"),
        (entry("INT64"), np.array([1, 2], np.int64), None),
        (entry("INT64"), np.array([1, 3], np.int64), "at [1] it is 3, expected 2"),
        (entry("UINT64", data=[2**64 - 1, 0]), np.array([2**64 - 2, 0], np.uint64), "1 of 2"),
        (entry("BYTES", data=["a", "b"]), np.array([b"a", b"b"], np.object_), None),
        (entry("BYTES", data=["a", "b"]), np.array([b"a", b"\x1b"], np.object_), "expected 'b'"),
        (entry(shape=(0,), data=[]), np.zeros(0, np.float32), None),
    ],
)
def test_an_answer_is_compared_by_its_datatype(expected: dict[str, Any], answer: Any, says: str | None) -> None:
    difference = matches(expected, answer)

    assert (difference is None) == (says is None)
    assert (says or "") in (difference or "")


def test_a_sample_with_outputs_is_golden_and_carries_tolerances(registered: str) -> None:
    services.add_sample(COMMAND, model="demo", name="one", inputs=[entry()], outputs=[entry(atol=0.5)])

    sample = selectors.get_sample("demo", "one")
    assert (sample.is_golden, sample.outputs[0]["atol"], sample.outputs[0]["rtol"]) == (True, 0.5, 1e-3)


def test_a_name_is_given_once_and_free_after_removal(registered: str) -> None:
    services.add_sample(COMMAND, model="demo", name="one", inputs=[entry()])

    with pytest.raises(SampleTaken):
        services.add_sample(COMMAND, model="demo", name="one", inputs=[entry()])
    services.remove_sample(COMMAND, model="demo", name="one")

    with pytest.raises(SampleUnknown):
        selectors.get_sample("demo", "one")


def test_a_sample_without_inputs_is_refused(registered: str) -> None:
    with pytest.raises(SampleInvalid, match="at least one input"):
        services.add_sample(COMMAND, model="demo", name="one", inputs=[])
