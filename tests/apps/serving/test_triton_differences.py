"""Two configurations compared by meaning, not by layout."""

from typing import Any

import pytest
from hypothesis import given

from apps.serving.backends.triton.config import CONFIG
from tests.apps.serving.test_triton_config import documents

BASE = """
name: "m" backend: "python" max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] }, { name: "y" data_type: TYPE_INT64 dims: [ 1 ] } ]
output [ { name: "z" data_type: TYPE_FP32 dims: [ 4 ] } ]
parameters { key: "a" value { string_value: "1" } }
parameters { key: "b" value { string_value: "2" } }
dynamic_batching { preferred_batch_size: [ 4, 8 ] }
instance_group [ { kind: KIND_CPU count: 1 } ]
"""


def told(one: str, other: str) -> list[tuple[str, Any, Any, str]]:
    found = CONFIG.differences(CONFIG.parse(one).document, CONFIG.parse(other).document)
    return [(each.path, each.before, each.after, str(each.effect)) for each in found]


def test_layout_comments_order_of_fields_and_written_defaults_mean_nothing() -> None:
    other = """# the same, by another hand
    instance_group { count: 1 kind: KIND_CPU }
    parameters: { key: "b" value: { string_value: "2" } }
    parameters: { key: "a" value: { string_value: "1" } }
    dynamic_batching: { preferred_batch_size: 4 preferred_batch_size: 8 preserve_ordering: false }
    output: { name: "z", data_type: TYPE_FP32, dims: 4 }
    input: { name: 'x' data_type: TYPE_FP32 dims: 4, optional: false }
    input: { name: "y" data_type: TYPE_INT64 dims: 1 format: FORMAT_NONE }
    max_batch_size: 8; backend: "py" "thon"
    name: "m"
    """

    assert told(BASE, other) == []


CHANGES: list[tuple[str, str, list[tuple[str, Any, Any, str]]]] = [
    ("dims: [ 4 ] },", "dims: [ -1 ] },", [("input[x].dims", [4], [-1], "interface")]),
    ("TYPE_INT64", "TYPE_INT32", [("input[y].data_type", "TYPE_INT64", "TYPE_INT32", "interface")]),
    ("max_batch_size: 8", "", [("max_batch_size", 8, None, "interface")]),
    ('value: "2"', 'value: "3"', [("parameters.b.string_value", "2", "3", "restart")]),
    ("[ 4, 8 ]", "[ 8, 4 ]", [("dynamic_batching.preferred_batch_size", [4, 8], [8, 4], "restart")]),
    ("count: 1", "count: 2", [("instance_group[0].count", 1, 2, "no_restart")]),
    ('name: "m"', 'name: "n"', [("name", "m", "n", "not_used")]),
    ('backend: "python"', 'backend: "onnxruntime"', [("backend", "python", "onnxruntime", "restart")]),
]


@pytest.mark.parametrize(("was", "becomes", "expected"), CHANGES)
def test_a_change_is_told_by_its_path_values_and_effect(
    was: str, becomes: str, expected: list[tuple[str, Any, Any, str]]
) -> None:
    assert told(BASE, BASE.replace(was, becomes)) == expected


def test_inputs_are_compared_by_name_and_a_mere_change_of_order_is_told_as_such() -> None:
    x, y = '{ name: "x" data_type: TYPE_FP32 dims: [ 4 ] }', '{ name: "y" data_type: TYPE_INT64 dims: [ 1 ] }'

    swapped = told(BASE, BASE.replace(f"{x}, {y}", f"{y}, {x}"))

    assert swapped == [("input (order)", ["x", "y"], ["y", "x"], "restart")]


def test_a_tensor_added_or_gone_is_one_difference() -> None:
    gone = told(BASE, BASE.replace(', { name: "y" data_type: TYPE_INT64 dims: [ 1 ] }', ""))

    assert gone == [("input[y]", {"name": "y", "data_type": "TYPE_INT64", "dims": [1]}, None, "interface")]


@given(documents, documents)
def test_differences_are_empty_exactly_when_both_mean_the_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    before, after = (CONFIG.parse(CONFIG.render(each)).document for each in (one, other))

    there, back = CONFIG.differences(before, after), CONFIG.differences(after, before)

    assert (not there) == (before == after)
    assert sorted((each.path, repr(each.before), repr(each.after)) for each in there if "(order)" not in each.path) == (
        sorted((each.path, repr(each.after), repr(each.before)) for each in back if "(order)" not in each.path)
    )


@pytest.mark.parametrize(("dims", "data", "effect"), [("8", "random_data", "not_used"), ("9", "zero_data", "restart")])
def test_of_a_warm_up_only_its_sizes_tell(dims: str, data: str, effect: str) -> None:
    one, other = (
        CONFIG.parse(
            "input [ { name: 'x' data_type: TYPE_FP32 dims: [ -1 ] } ] model_warmup [ { name: 'w' batch_size: 1 "
            f"inputs {{ key: 'x' value {{ data_type: TYPE_FP32 dims: [ {size} ] {kind}: true }} }} }} ]"
        ).document
        for size, kind in (("8", "zero_data"), (dims, data))
    )

    assert {str(found.effect) for found in CONFIG.differences(one, other)} == {effect}
