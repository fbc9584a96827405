"""config.pbtxt: read, changed and written by Triton's own protobuf."""

from typing import Any

import pytest
from google.protobuf import json_format, text_format
from hypothesis import given
from hypothesis import strategies as st
from tritonclient.grpc.model_config_pb2 import DataType
from tritonclient.grpc.model_config_pb2 import ModelConfig as ConfigMessage

from apps.serving.backends.triton.config import CONFIG
from apps.serving.errors import ConfigUnparsable
from apps.serving.protocol import Signature, TensorSpec
from tests.factories.triton_models import config_text

RICH = """
name: "rich"  # as people write them
platform: "onnxruntime_onnx"
max_batch_size: 16
version_policy: { all { } }
input [
  { name: "image" data_type: TYPE_FP16 dims: [ 3, -1, -1 ] format: FORMAT_NCHW },
  { name: "hint" data_type: TYPE_STRING dims: [ 1 ] optional: true }
]
output { name: "scores" data_type: TYPE_BF16 dims: 1000 label_filename: "labels.txt" }
dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 18446744073709551615 }
instance_group [ { kind: KIND_GPU count: 2 gpus: [ 0, 1 ] } ]
parameters { key: "b" value { string_value: "two \\u00e9" } }
parameters { key: "a" value { string_value: "one" } }
model_warmup [ {
  name: "w" batch_size: 1
  inputs { key: "image" value { data_type: TYPE_FP16 dims: [ 3, 8, 8 ] random_data: true } }
} ]
optimization { execution_accelerators { gpu_execution_accelerator: [ { name: "tensorrt" } ] } }
response_cache { enable: true }
"""
ENSEMBLE = """
name: "pipeline" platform: "ensemble" max_batch_size: 1
input [ { name: "x" data_type: TYPE_FP32 dims: [ 1 ] } ] output [ { name: "y" data_type: TYPE_FP32 dims: [ 1 ] } ]
ensemble_scheduling { step [
  { model_name: "clean" model_version: -1 input_map { key: "x" value: "x" } output_map { key: "y" value: "t" } },
  { model_name: "score" model_version: 3 input_map { key: "x" value: "t" } output_map { key: "y" value: "u" } },
  { model_name: "clean" model_version: -1 input_map { key: "x" value: "u" } output_map { key: "y" value: "y" } }
] }
"""


def message(document: Any) -> Any:
    return json_format.ParseDict(document, ConfigMessage())


def read(text: str) -> Any:
    return text_format.Parse(text, ConfigMessage())


def document(**changes: Any) -> dict[str, Any]:
    return {**CONFIG.parse(config_text("digits")).document, **changes}


def test_a_config_tells_what_conch_decides_by() -> None:
    config = CONFIG.parse(RICH)

    assert (config.name, config.backend, config.platform) == ("rich", "", "onnxruntime_onnx")
    assert config.signature == Signature(
        inputs=(TensorSpec("image", "FP16", (3, -1, -1)), TensorSpec("hint", "BYTES", (1,), is_optional=True)),
        outputs=(TensorSpec("scores", "BF16", (1000,)),),
        max_batch_size=16,
    )
    assert (config.is_ensemble, config.is_decoupled, config.is_sequence) == (False, False, False)


def test_the_document_holds_numbers_as_numbers_in_the_servers_own_names() -> None:
    found = CONFIG.parse(RICH).document

    assert found["input"][0] == {
        "name": "image", "data_type": "TYPE_FP16", "format": "FORMAT_NCHW", "dims": [3, -1, -1]
    }  # fmt: skip
    assert found["dynamic_batching"]["max_queue_delay_microseconds"] == 2**64 - 1
    assert found["parameters"] == {"a": {"string_value": "one"}, "b": {"string_value": "two é"}}
    assert found["version_policy"] == {"all": {}}


def test_an_ensemble_names_its_members_once_and_needs_no_file() -> None:
    config = CONFIG.parse(ENSEMBLE)

    assert config.is_ensemble
    assert config.members == ("clean", "score")
    assert CONFIG.required_file(config.document) is None


def test_sequences_and_decoupled_models_are_told() -> None:
    assert CONFIG.parse("sequence_batching { }").is_sequence
    assert CONFIG.parse("model_transaction_policy { decoupled: true }").is_decoupled


@pytest.mark.parametrize(
    ("text", "line", "column", "cause"),
    [
        ("name: 'm'\nnonsense: 3", 2, 1, "nonsense"),
        ("name: 'm'\n  max_batch_size: eight", 2, 19, "eight"),
        ("input [ { data_type: TYPE_FP31 } ]", 1, 22, "TYPE_FP31"),
        ("name: 'm'\ninput [ {", 2, 9, "Expected"),
        ("name: 'a'\nname: 'b'", 2, 7, "multiple"),
        ("\x1b[31m: 1", 1, 1, ""),
        ("<html>", 1, 1, ""),
        ("# it's fine\nname: 'a\\d'", 2, 9, "is no escape"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(text: str, line: int, column: int, cause: str) -> None:
    with pytest.raises(ConfigUnparsable) as refused:
        CONFIG.parse(text)

    assert f"line {line}, column {column}: " in refused.value.message
    assert cause in refused.value.message
    assert (refused.value.facts["line"], refused.value.facts["column"]) == (line, column)
    assert "\x1b" not in refused.value.message


UNREADABLE = {
    "max_batch_size: -1": "max_batch_size -1 is negative",
    'backend: "../../tmp/x"': "backend '../../tmp/x' is not a plain name",
    'runtime: "../x.so"': "runtime '../x.so' is not a plain name",
    "instance_group { count: 2147483647 }": "asks for 2,147,483,647 instances",
    "instance_group { count: 100 gpus: [0, 1, 2] }": "asks for 300 instances",
    "input [ { name: 'x' data_type: TYPE_FP32 dims: [ 0 ] } ]": "input 'x': each of dims",
    "input [ { name: 'x' data_type: TYPE_FP32 dims: [ -2 ] } ]": "input 'x': each of dims",
    "input [ { name: 'x' data_type: TYPE_FP32 } ]": "input 'x' has no dims",
    "output [ { name: 'y' dims: [ 1 ] } ]": "output 'y' has no data_type",
    "output [ { data_type: TYPE_FP32 dims: [ 1 ] } ]": "output '': each output needs a name",
    "input { name: 'x' data_type: 1 dims: 1 } input { name: 'x' data_type: 1 dims: 1 }": "name of its own",
    "default_model_filename: '../../etc/passwd'": "not a plain file name",
    "default_model_filename: '$(touch x).py'": "not a plain file name",
}


def _refusal(text: str) -> ConfigUnparsable:
    with pytest.raises(ConfigUnparsable) as refused:
        CONFIG.parse(text)
    return refused.value


@pytest.mark.parametrize(("text", "cause"), UNREADABLE.items())
def test_what_the_server_would_only_call_failed_to_poll_is_refused_by_name(text: str, cause: str) -> None:
    refused = _refusal(text)

    assert cause in refused.message
    assert refused.facts["field"] in text


def test_every_rule_of_reading_is_broken_by_some_text_and_says_how_to_mend_it() -> None:
    told = [_refusal(text) for text in UNREADABLE]

    assert {one.facts["rule"] for one in told} == {rule.id for rule in CONFIG.reading_rules}
    assert all(one.hint for one in told)


@pytest.mark.parametrize(
    ("text", "filename"),
    [
        ("backend: 'python'", "model.py"),
        ("backend: 'onnxruntime'", "model.onnx"),
        ("platform: 'onnxruntime_onnx'", "model.onnx"),
        ("backend: 'tensorrt'", "model.plan"),
        ("platform: 'tensorrt_plan'", "model.plan"),
        ("backend: 'pytorch'", "model.pt"),
        ("platform: 'pytorch_libtorch'", "model.pt"),
        ("backend: 'tensorflow' platform: 'tensorflow_savedmodel'", "model.savedmodel"),
        ("platform: 'tensorflow_graphdef'", "model.graphdef"),
        ("backend: 'openvino'", "model.xml"),
        ("backend: 'python' default_model_filename: 'serve.py'", "serve.py"),
        ("backend: 'tensorrt' cc_model_filenames { key: '8.6' value: 'a.plan' }", None),
        ("backend: 'home-made'", None),
        ("", None),
    ],
)
def test_a_backend_needs_its_file(text: str, filename: str | None) -> None:
    assert CONFIG.required_file(CONFIG.parse(text).document) == filename


def test_the_effective_config_serves_what_conch_decides_and_keeps_the_rest() -> None:
    before = dict(CONFIG.parse(RICH).document)

    after = CONFIG.effective(before, name="rich.shadow", versions=[7, 3], warmup=[{"name": "zeros"}])

    assert after["name"] == "rich.shadow"
    assert after["version_policy"] == {"specific": {"versions": [3, 7]}}
    assert after["model_warmup"] == [{"name": "zeros"}]
    assert {**after, "name": 0, "version_policy": 0, "model_warmup": 0} == {
        **before, "name": 0, "version_policy": 0, "model_warmup": 0
    }  # fmt: skip
    assert before == CONFIG.parse(RICH).document


def test_without_a_warm_up_none_is_left() -> None:
    assert "model_warmup" not in CONFIG.effective(CONFIG.parse(RICH).document, name="rich", versions=[1], warmup=[])


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"instance_group": [{"kind": "KIND_CPU", "count": 4}]},
        {"version_policy": {"specific": {"versions": [1, 2]}}},
    ],
)
def test_instances_and_policy_restart_nothing(change: dict[str, Any]) -> None:
    assert CONFIG.can_stand_beside(document(), document(**change))


@pytest.mark.parametrize(
    ("change", "is_alike"),
    [
        ({"dynamic_batching": {}}, True),
        ({"name": "other"}, True),
        ({"max_batch_size": 16}, False),
        ({"instance_group": [{"kind": "KIND_CPU", "count": 4}]}, False),
        ({"parameters": {"a": {"string_value": "1"}}}, False),
        ({"optimization": {"cuda": {"graphs": True}}}, False),
    ],
)
def test_what_tells_of_memory_is_instances_batch_optimization_and_parameters(
    change: dict[str, Any], *, is_alike: bool
) -> None:
    assert CONFIG.takes_as_much(document(), document(**change)) is is_alike


@pytest.mark.parametrize(
    "change",
    [
        {"max_batch_size": 16},
        {"dynamic_batching": {}},
        {"parameters": {"a": {"string_value": "1"}}},
        {"model_warmup": [{"name": "zeros", "batch_size": 1}]},
        {"default_model_filename": "model.py"},
        {"input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [5]}]},
    ],
)
def test_any_other_difference_restarts_loaded_versions(change: dict[str, Any]) -> None:
    assert not CONFIG.can_stand_beside(document(), document(**change))


def test_a_document_that_describes_no_config_is_refused() -> None:
    with pytest.raises(ConfigUnparsable, match="no_such_field"):
        CONFIG.render({"no_such_field": 1})


@pytest.mark.parametrize("text", [RICH, ENSEMBLE, config_text("digits")])
def test_what_is_written_reads_back_the_same(text: str) -> None:
    config = CONFIG.parse(text)

    written = CONFIG.render(config.document)

    assert read(written) == read(text)
    assert CONFIG.parse(written) == config


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
dims = st.lists(st.one_of(st.just(-1), st.integers(1, 2**63 - 1)), min_size=1, max_size=4)
tensors = st.lists(
    st.fixed_dictionaries({"name": names, "data_type": st.sampled_from(DataType.keys()[1:]), "dims": dims}),
    max_size=3,
    unique_by=lambda tensor: str(tensor["name"]),
)
documents = st.fixed_dictionaries(
    {},
    optional={
        "name": names,
        "backend": st.from_regex(r"[a-z][a-z0-9_.-]{0,11}", fullmatch=True),
        "max_batch_size": st.integers(1, 2**31 - 1),
        "input": tensors,
        "output": tensors,
        "parameters": st.dictionaries(names, st.fixed_dictionaries({"string_value": names}), min_size=1),
        "metric_tags": st.dictionaries(names, names, min_size=1),
        "instance_group": st.lists(st.fixed_dictionaries({"count": st.integers(1, 99)}), min_size=1, max_size=2),
        "dynamic_batching": st.fixed_dictionaries(
            {}, optional={"max_queue_delay_microseconds": st.integers(1, 2**64 - 1)}
        ),
    },
)


@given(documents, st.sets(st.integers(0, 2**63 - 1), min_size=1))
def test_any_config_survives_the_file_and_the_override(given_document: dict[str, Any], versions: set[int]) -> None:
    before = CONFIG.parse(CONFIG.render(given_document)).document

    effective = CONFIG.effective(before, name="digits", versions=sorted(versions), warmup=CONFIG.zero_warmup(before))

    assert message(before) == message(given_document)
    assert CONFIG.parse(CONFIG.render(effective)).document == effective
