"""Warm-up by zeros: what is sent, what is not, and how much of it."""

from typing import Any

import numpy as np
import pytest

from apps.serving.backends.triton.config import CONFIG
from apps.serving.backends.triton.tensors import DATATYPES, to_wire
from apps.serving.backends.triton.warmup import LIMIT_BYTES, check_size
from apps.serving.errors import ConfigUnparsable

PLAIN = "max_batch_size: 8 input [ { name: 'x' data_type: TYPE_FP32 dims: [ 4 ] } ]"


def parsed(text: str) -> dict[str, Any]:
    return dict(CONFIG.parse(text).document)


def test_zeros_of_the_declared_shape_are_one_row() -> None:
    assert CONFIG.zero_warmup(parsed(PLAIN)) == [
        {
            "name": "zeros",
            "batch_size": 1,
            "inputs": {"x": {"data_type": "TYPE_FP32", "dims": [4], "zero_data": True}},
        }
    ]


def test_a_model_that_does_not_batch_is_warmed_with_one_too_because_zero_warms_nothing() -> None:
    document = parsed("input [ { name: 'x' data_type: TYPE_INT64 dims: [ 2, 3 ] } ]")

    (entry,) = CONFIG.zero_warmup(document)
    (tensor,) = CONFIG.example_inputs(document)

    assert entry["batch_size"] == 1
    assert tensor.array.shape == (2, 3)
    assert tensor.array.dtype == np.int64


def test_a_dynamic_dimension_is_one_and_the_batch_goes_in_front() -> None:
    document = parsed("max_batch_size: 2 input [ { name: 'x' data_type: TYPE_FP16 dims: [ 3, -1, -1 ] } ]")

    assert CONFIG.zero_warmup(document)[0]["inputs"]["x"]["dims"] == [3, 1, 1]
    assert CONFIG.example_inputs(document)[0].array.shape == (1, 3, 1, 1)


SIZED = """
max_batch_size: 2
input [ { name: 'x' data_type: TYPE_FP32 dims: [ 3, -1, -1 ] }, { name: 'n' data_type: TYPE_INT32 dims: [ -1 ] } ]
model_warmup [
  { name: 'usual' batch_size: 2
    inputs { key: 'x' value { data_type: TYPE_FP32 dims: [ 3, 8, 16 ] random_data: true } } },
  { name: 'large' batch_size: 1
    inputs { key: 'n' value { data_type: TYPE_INT32 dims: [ 9 ] zero_data: true } } }
]
"""


def test_dims_that_vary_have_the_sizes_of_the_configurations_first_warm_up_else_one() -> None:
    document = parsed(SIZED)

    (entry,) = CONFIG.zero_warmup(document)

    assert (entry["batch_size"], entry["inputs"]["x"]["dims"], entry["inputs"]["n"]["dims"]) == (1, [3, 8, 16], [1])
    assert entry["inputs"]["x"]["zero_data"] is True
    assert [tensor.array.shape for tensor in CONFIG.example_inputs(document)] == [(1, 3, 8, 16), (1, 1)]


@pytest.mark.parametrize(
    ("dims", "sent"), [("[ 5, 8, 16 ]", [3, 8, 16]), ("[ 8, 16 ]", [3, 1, 1]), ("[ 3, -1, 0 ]", [3, 1, 1])]
)
def test_a_fixed_size_stays_and_sizes_that_do_not_suit_are_not_taken(dims: str, sent: list[int]) -> None:
    document = parsed(SIZED.replace("[ 3, 8, 16 ]", dims))

    assert CONFIG.zero_warmup(document)[0]["inputs"]["x"]["dims"] == sent


def test_sizes_above_what_a_server_is_trusted_with_are_not_sent() -> None:
    assert CONFIG.zero_warmup(parsed(SIZED.replace("8, 16", "8192, 8192"))) == []


def test_an_optional_input_is_left_out() -> None:
    document = parsed(
        "input [ { name: 'x' data_type: TYPE_FP32 dims: 1 },"
        " { name: 'hint' data_type: TYPE_STRING dims: 1 optional: true } ]"
    )

    assert list(CONFIG.zero_warmup(document)[0]["inputs"]) == ["x"]
    assert [tensor.name for tensor in CONFIG.example_inputs(document)] == ["x"]


def test_text_is_warmed_with_empty_strings() -> None:
    (tensor,) = CONFIG.example_inputs(parsed("input [ { name: 'x' data_type: TYPE_STRING dims: [ 2 ] } ]"))

    assert tensor.datatype == "BYTES"
    assert tensor.array.tolist() == [b"", b""]


@pytest.mark.parametrize("datatype", DATATYPES)
def test_an_example_of_each_datatype_can_be_sent(datatype: str) -> None:
    spelled = "STRING" if datatype == "BYTES" else datatype
    (tensor,) = CONFIG.example_inputs(parsed(f"input [ {{ name: 'x' data_type: TYPE_{spelled} dims: [ 2 ] }} ]"))

    assert tensor.datatype == datatype
    assert to_wire(tensor).shape() == [2]
    assert to_wire(tensor).datatype() == datatype


@pytest.mark.parametrize(
    "text",
    [
        "",
        "max_batch_size: 8",
        "input [ { name: 'x' data_type: TYPE_FP32 dims: 1 optional: true } ]",
        f"{PLAIN} sequence_batching {{ }}",
        f"{PLAIN} model_transaction_policy {{ decoupled: true }}",
        f"{PLAIN} ensemble_scheduling {{ step {{ model_name: 'a' }} }}",
        "input [ { name: 'x' data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: true } ]",
        "input [ { name: 'x' data_type: TYPE_INT32 dims: [ 2 ] is_shape_tensor: true } ]",
        f"input [ {{ name: 'x' data_type: TYPE_UINT8 dims: [ {LIMIT_BYTES + 1} ] }} ]",
        f"input [ {{ name: 'x' data_type: TYPE_FP64 dims: [ {2**62}, {2**62} ] }} ]",
    ],
)
def test_what_zeros_do_not_suit_is_not_warmed_and_has_no_example(text: str) -> None:
    document = parsed(text)

    assert CONFIG.zero_warmup(document) == []
    assert CONFIG.example_inputs(document) == []


def test_the_limit_itself_is_still_warmed() -> None:
    document = parsed(f"input [ {{ name: 'x' data_type: TYPE_UINT8 dims: [ {LIMIT_BYTES} ] }} ]")

    assert len(CONFIG.zero_warmup(document)) == 1


@pytest.mark.parametrize(
    "entry",
    [
        {"batch_size": 2**32 - 1, "inputs": {"x": {"data_type": "TYPE_FP32", "dims": [2**20]}}},
        {"batch_size": 1, "inputs": {"x": {"data_type": "TYPE_FP32", "dims": [2**62, 2**62, 2]}}},
        {"inputs": {"x": {"data_type": "TYPE_STRING", "dims": [-(2**40)]}}},
    ],
)
def test_a_warm_up_too_large_for_a_server_is_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(ConfigUnparsable, match="the limit is 67,108,864"):
        check_size({"model_warmup": [entry]})
