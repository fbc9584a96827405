"""What somebody meant who wrote a field or value that config.pbtxt does not have, and what is too new for a server."""

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2
from tritonclient.grpc.model_config_pb2 import ModelConfig

from apps.serving.backends.triton import releases
from apps.serving.backends.triton.config import CONFIG
from apps.serving.errors import ConfigUnparsable

MEANT = [
    ("max_batchsize: 3", "max_batch_size", '"max_batchsize" is no field of the configuration: did you mean'),
    ("maxBatchSize: 3", "max_batch_size", 'did you mean "max_batch_size"?'),
    ("inputs [ ]", "input", 'did you mean "input"?'),
    ("input [ { data_typ: TYPE_FP32 } ]", "data_type", '"data_typ" is no field of input'),
    ("input { dimss: 1 }", "dims", 'did you mean "dims"?'),
    ("input { shape: 1 }", "shape", "it belongs into input.reshape"),
    ("preferred_batch_size: 4", "preferred_batch_size", "it belongs into dynamic_batching"),
    ("decoupled: true", "decoupled", "it belongs into model_transaction_policy"),
    ("dynamic_batching { max_queue_delay: 3 }", "max_queue_delay_microseconds", "no field of dynamic_batching"),
    ("sequence_batching { strategy_oldest { } }", "oldest", 'did you mean "oldest"?'),
    ("ensemble_scheduling { steps { } }", "step", "no field of ensemble_scheduling"),
    ("input { data_type: TYPE_FLOAT }", "TYPE_FP32", 'there is no value "TYPE_FLOAT": did you mean "TYPE_FP32"?'),
    ("input { data_type: TYPE_BYTES }", "TYPE_STRING", 'did you mean "TYPE_STRING"?'),
    ("input { data_type: FP16 }", "TYPE_FP16", 'did you mean "TYPE_FP16"?'),
    ("input { data_type: FLOAT }", "TYPE_FP32", 'did you mean "TYPE_FP32"?'),
    ("input { data_type: int64 }", "TYPE_INT64", 'did you mean "TYPE_INT64"?'),
    ("input { format: NCHW }", "FORMAT_NCHW", 'did you mean "FORMAT_NCHW"?'),
    ("instance_group { kind: KIND_GPUS }", "KIND_GPU", 'did you mean "KIND_GPU"?'),
    ("instance_group { kind: GPU }", "KIND_GPU", 'did you mean "KIND_GPU"?'),
    ("instance_group { kind: KIND_CUDA }", "KIND_GPU", 'did you mean "KIND_GPU"?'),
    ("dynamic_batching { preserve_ordering: TRUE }", "true", "Did you mean true?"),
]


@pytest.mark.parametrize(("text", "meant", "says"), MEANT)
def test_a_misspelt_name_is_refused_with_the_one_that_was_meant(text: str, meant: str, says: str) -> None:
    with pytest.raises(ConfigUnparsable) as refused:
        CONFIG.parse(text)

    assert says in refused.value.message
    assert refused.value.facts["meant"] == meant


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("zzz: 1", "which has backend, batch_input"),
        ("instance_group { kind: 7x }", "only KIND_AUTO, KIND_GPU"),
        ('parameters { key: "a" value: "b" }', 'value: { string_value: "..." }'),
        ("input { format: TYPE_FP32 }", "there is no value"),
    ],
)
def test_where_nothing_is_alike_what_there_is_is_told(text: str, says: str) -> None:
    with pytest.raises(ConfigUnparsable) as refused:
        CONFIG.parse(text)

    assert says in refused.value.message
    assert "meant" not in refused.value.facts or refused.value.facts["meant"]


def message(text: str) -> ModelConfig:
    return text_format.Parse(text, ModelConfig())


NEW = [
    ('runtime: "x"', "runtime", "2.42 (container 24.01)"),
    ("model_metrics { }", "model_metrics", "2.52 (container 24.11)"),
    ('input { name: "x" optional: true }', "input.optional", "2.18 (container 22.01)"),
    ('output { name: "y" data_type: TYPE_BF16 }', "output.data_type", "2.22 (container 22.05)"),
    ("batch_input { kind: BATCH_ITEM_SHAPE }", "batch_input.kind", "2.20 (container 22.03)"),
    ("sequence_batching { iterative_sequence: true }", "sequence_batching.iterative_sequence", "2.40"),
    ("ensemble_scheduling { max_inflight_requests: 4 }", "ensemble_scheduling.max_inflight_requests", "2.63"),
    ('model_warmup { inputs { key: "x" value { data_type: TYPE_BF16 } } }', "model_warmup.inputs.data_type", "2.22"),
]


@pytest.mark.parametrize(("text", "path", "release"), NEW)
def test_what_is_newer_than_a_server_is_named_with_its_release(text: str, path: str, release: str) -> None:
    found = releases.newer_than(message(text), (2, 10))

    assert [one.path for one in found] == [path]
    assert found[0].release.startswith(release)
    assert releases.newer_than(message(text), found[0].since) == []


def test_every_name_in_the_table_is_one_of_the_schema() -> None:
    pool = model_config_pb2.DESCRIPTOR.pool
    for name in releases.SINCE:
        home, _, part = f"inference.{name}".rpartition(".")
        try:
            known = pool.FindMessageTypeByName(home).fields_by_name
        except KeyError:
            known = pool.FindEnumTypeByName(home).values_by_name
        assert part in known, name


@pytest.mark.parametrize(
    ("version", "release"),
    [("2.51.0", (2, 51)), ("2.63.0dev", (2, 63)), (" 2.7", (2, 7)), ("24.10x", (24, 10)), ("latest", None), ("", None)],
)
def test_a_release_is_read_from_what_a_server_calls_itself(version: str, release: releases.Release | None) -> None:
    assert releases.release_of(version) == release


def test_of_a_long_line_only_what_is_around_the_place_is_kept() -> None:
    text = 'name: "a"\n' + " " * 5_000 + "max_batchsize: 3 " + "#" * 5_000

    with pytest.raises(ConfigUnparsable) as refused:
        CONFIG.parse(text)

    assert "max_batchsize: 3" in refused.value.facts["text"]
    assert len(refused.value.facts["text"]) <= 160
