"""What an environment sets otherwise, merged by Triton's own schema."""

from typing import Any

import pytest

from apps.serving import backends
from apps.serving.errors import OverlayInvalid

CONFIG = backends.get("triton").CONFIG
TEXT = """\
name: "m"
backend: "python"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]
instance_group [ { kind: KIND_CPU count: 1 } ]
dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100 }
parameters { key: "A" value: { string_value: "one" } }
parameters { key: "B" value: { string_value: "two" } }
"""
BASE: dict[str, Any] = dict(CONFIG.parse(TEXT).document)


def test_messages_merge_field_by_field_maps_key_by_key_and_lists_are_replaced() -> None:
    merged = CONFIG.merge(
        BASE,
        {
            "instance_group": [{"count": 3, "kind": "KIND_CPU"}],
            "dynamic_batching": {"preferred_batch_size": [2], "max_queue_delay_microseconds": 0},
            "parameters": {"B": {"string_value": "other"}, "C": {"string_value": "new"}},
        },
    )

    assert merged["instance_group"] == [{"count": 3, "kind": "KIND_CPU"}]
    assert merged["dynamic_batching"] == {"preferred_batch_size": [2]}
    assert {key: value["string_value"] for key, value in merged["parameters"].items()} == {
        "A": "one",
        "B": "other",
        "C": "new",
    }
    assert {name: merged[name] for name in ("name", "input", "output", "max_batch_size")} == {
        name: BASE[name] for name in ("name", "input", "output", "max_batch_size")
    }


def test_nothing_takes_a_field_or_a_key_away() -> None:
    merged = CONFIG.merge(BASE, {"dynamic_batching": None, "parameters": {"A": None}})

    assert "dynamic_batching" not in merged
    assert list(merged["parameters"]) == ["B"]


def test_an_empty_overlay_is_the_version_itself() -> None:
    assert CONFIG.merge(BASE, {}) == BASE


@pytest.mark.parametrize(
    ("overlay", "words"),
    [
        ({"max_batch_size": 4}, "cannot set 'max_batch_size'"),
        ({"model_warmup": []}, "cannot set 'model_warmup'"),
        ({"dynamic_batchin": {}}, "cannot set 'dynamic_batchin'"),
        (
            {"dynamic_batching": {"maxQueueDelayMicroseconds": 1}},
            "no field 'dynamic_batching.maxQueueDelayMicroseconds'",
        ),
        ({"dynamic_batching": {"max_queue_delay_microseconds": "soon"}}, "not one of Triton's"),
        ({"dynamic_batching": 5}, "dynamic_batching is not an object"),
        ({"instance_group": {"count": 2}}, "instance_group is not a list"),
        ({"instance_group": [{"counts": 2}]}, r"no field 'instance_group\[0\].counts'"),
        ({"instance_group": [{"kind": "KIND_TPU"}]}, "not one of Triton's"),
        ({"parameters": {"A": "plain"}}, "parameters.A is not an object"),
        ({"parameters": {"key": "K", "value": {"string_value": "v"}}}, "parameters.key is not an object"),
        ({"name": "other"}, "cannot set 'name'"),
        ({"inputs": []}, "cannot set 'inputs'"),
        ("backend: python", "not an object of fields"),
        ("", "not an object of fields"),
        ([], "not an object of fields"),
        (None, "not an object of fields"),
        ("dynamic_batching", "not an object of fields"),
    ],
)
def test_what_no_overlay_may_hold_is_named(overlay: Any, words: str) -> None:
    with pytest.raises(OverlayInvalid, match=words):
        CONFIG.clean_overlay(overlay)


def test_a_misspelt_field_is_answered_with_the_nearest() -> None:
    with pytest.raises(OverlayInvalid) as refused:
        CONFIG.clean_overlay({"dynamic_batching": {"max_queue_delay_microsecond": 1}})

    assert refused.value.hint == "Did you mean 'max_queue_delay_microseconds'?"


@pytest.mark.parametrize(
    ("config", "overlay", "words"),
    [
        (BASE, {"dynamic_batching": {"preferred_batch_size": [16]}}, "preferred_batch_size 16 is not between 1 and"),
        ({**BASE, "max_batch_size": 0}, {"dynamic_batching": {}}, "max_batch_size is 0"),
        (BASE, {"instance_group": [{"count": 10_000}]}, "10,000 instances"),
    ],
)
def test_what_does_not_fit_the_version_is_refused_before_a_server_says_failed_to_poll(
    config: dict[str, Any], overlay: dict[str, Any], words: str
) -> None:
    with pytest.raises(OverlayInvalid, match=words):
        CONFIG.check_fit(config, overlay)


def test_lines_are_read_by_the_schema_and_written_back_the_same() -> None:
    lines = [
        "dynamic_batching.max_queue_delay_microseconds=500",
        "dynamic_batching.preferred_batch_size=4,8",
        "parameters.dotted.key=three = 3",
        "response_cache.enable=true",
    ]

    overlay = CONFIG.overlay_of([*lines, "", "# a remark"], config=BASE)

    assert overlay == {
        "dynamic_batching": {"max_queue_delay_microseconds": 500, "preferred_batch_size": [4, 8]},
        "parameters": {"dotted.key": {"string_value": "three = 3"}},
        "response_cache": {"enable": True},
    }
    assert CONFIG.overlay_of(CONFIG.overlay_lines(overlay), config=BASE) == overlay


def test_a_line_on_groups_changes_every_group_of_the_version_and_keeps_the_rest_of_it() -> None:
    config = {**BASE, "instance_group": [{"kind": "KIND_GPU", "gpus": [0]}, {"kind": "KIND_GPU", "gpus": [1]}]}

    overlay = CONFIG.overlay_of(["instance_group.count=2"], config=config)

    assert overlay == {
        "instance_group": [
            {"kind": "KIND_GPU", "gpus": [0], "count": 2},
            {"kind": "KIND_GPU", "gpus": [1], "count": 2},
        ]
    }
    assert CONFIG.overlay_of(CONFIG.overlay_lines(overlay), config={}) == overlay


def test_a_line_without_a_value_takes_away() -> None:
    assert CONFIG.overlay_of(["dynamic_batching=", "parameters.A="], config=BASE) == {
        "dynamic_batching": None,
        "parameters": {"A": None},
    }


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("instance_group", "is no change"),
        ("colour=blue", "there is no field 'colour'"),
        ("dynamic_batching.max_queue_delay_microseconds=soon", "'soon' is no number"),
        ("response_cache.enable=yes", "true or false"),
        ("instance_group.colour=1", "instance_group has no field 'colour'"),
        ("max_batch_size.x=1", "has no fields of its own"),
        ("parameters=1", "parameters.KEY=value"),
        ("dynamic_batching=often", "as JSON"),
    ],
)
def test_a_line_that_is_none_says_why(line: str, words: str) -> None:
    with pytest.raises(OverlayInvalid, match=words):
        CONFIG.overlay_of([line], config=BASE)


def test_whether_a_server_runs_it_is_seen_through_the_defaults_it_fills_in() -> None:
    wanted = CONFIG.merge(BASE, {"instance_group": [{"count": 2}], "dynamic_batching": None})
    old = {**BASE, "instance_group": [{"name": "m_0", "kind": "KIND_CPU", "count": 1}], "version_policy": {}}
    new = {**wanted, "instance_group": [{"name": "m_0", "kind": "KIND_CPU", "count": 2}], "version_policy": {}}

    assert not CONFIG.is_applied(old, was=BASE, wanted=wanted)
    assert CONFIG.is_applied(new, was=BASE, wanted=wanted)
    assert not CONFIG.is_applied({**new, "dynamic_batching": BASE["dynamic_batching"]}, was=BASE, wanted=wanted)
