"""Requests, statistics and signatures of a real Triton."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from apps.serving.backends.triton.config import CONFIG
from apps.serving.errors import InferenceFailed, InferenceLate, ModelUnavailable
from apps.serving.protocol import ServingBackend, Tensor
from demo.parts.triton import Triton
from tests.apps.serving.conftest import load
from tests.factories.triton_models import ask, config_text, ones, python_model
from tests.fixtures.waiting import eventually

ECHO = """\
import triton_python_backend_utils as pb


class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            tensors = {each.name(): each for each in request.inputs()}
            answers.append(pb.InferenceResponse([
                pb.Tensor("out_" + name, each.as_numpy()) if name in ("STRING", "BOOL")
                else pb.Tensor.from_dlpack("out_" + name, each.to_dlpack())
                for name, each in tensors.items()
            ]))
        return answers
"""
NUMBERS = ["UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64"]
DATATYPES = [*NUMBERS, "BOOL", "STRING", "BF16"]


@pytest.fixture(scope="module")
def served(triton: Triton, backend: ServingBackend) -> str:
    behaviour = """
    if x[0, 0] == 13: raise ValueError("\\x1b[1mthirteen\\x1b[0m <b>rows</b>")
    if x[0, 0] == 14: time.sleep(2)
    """
    python_model(triton.repository, "served", 1, execute=behaviour)
    load(backend, "served", 1)
    return "served"


def echo_model(repository: Path, *, max_batch_size: int) -> tuple[str, dict[str, Any]]:
    """A model that gives back one input of each datatype, dims [-1, 2]."""
    name = f"echo-{max_batch_size}"
    inputs = ", ".join(f'{{ name: "{each}" data_type: TYPE_{each} dims: [ -1, 2 ] }}' for each in DATATYPES)
    outputs = ", ".join(f'{{ name: "out_{each}" data_type: TYPE_{each} dims: [ -1, 2 ] }}' for each in DATATYPES)
    folder = repository / name / "1"
    folder.mkdir(parents=True)
    (folder / "model.py").write_text(ECHO)
    config = CONFIG.parse(
        f'backend: "python" max_batch_size: {max_batch_size} input [ {inputs} ] output [ {outputs} ] '
        "instance_group [ { kind: KIND_CPU } ]"
    )
    return name, dict(config.document)


@pytest.mark.parametrize("max_batch_size", [0, 4])
def test_every_datatype_goes_there_and_back(triton: Triton, backend: ServingBackend, max_batch_size: int) -> None:
    name, document = echo_model(triton.repository, max_batch_size=max_batch_size)
    override = CONFIG.effective(document, name=name, versions=[1], warmup=CONFIG.zero_warmup(document))
    examples = CONFIG.example_inputs(document)
    sent = [
        Tensor(each.name, each.datatype, each.array if each.datatype == "BYTES" else each.array + 1)
        if each.datatype != "BOOL"
        else each
        for each in examples
    ]

    backend.load(name, config=override, timeout_s=60)
    answer = backend.infer(name, 1, sent)

    assert {each.name for each in sent} == set(DATATYPES)
    for each in sent:
        np.testing.assert_array_equal(answer.outputs[f"out_{each.name}"], each.array)
    assert answer.latency_us > 0
    # One warm-up by the server and one request by us, of the same inputs; it answers first and counts afterwards.
    assert eventually(lambda: backend.statistics(name)[0].inference_count == 2)


def test_a_request_carries_batches_and_text(triton: Triton, backend: ServingBackend, served: str) -> None:
    answer = backend.infer(served, None, ones(rows=8))

    assert answer.outputs["echo"].shape == (8, 4)
    assert answer.outputs["echo"].dtype == np.float32
    assert answer.outputs["echo"].tolist() == [[1.0] * 4] * 8


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        (ones(rows=9), "batch-size must be <= 8"),
        (ones(columns=5), "unexpected shape for input 'x'"),
        ([Tensor("x", "FP64", np.ones((1, 4)))], "inference input 'x' data-type is 'FP64'"),
        ([Tensor("z", "FP32", np.ones((1, 4)))], "unexpected inference input 'z'"),
        ([], "expected 1 inputs but got 0"),
        ([Tensor("x", "FP32", np.array([["seven"] * 4], dtype=object))], "could not convert string to float"),
        ([Tensor("x", "FP128", np.ones((1, 4)))], "there is no datatype 'FP128'"),
        ([Tensor("\ud800", "FP32", np.ones((1, 4)))], "surrogates not allowed"),
    ],
)
def test_a_wrong_request_says_what_is_wrong(
    backend: ServingBackend, served: str, inputs: list[Tensor], says: str
) -> None:
    with pytest.raises(InferenceFailed, match=f"^staging-1: asking 'served' 1: .*{says}") as failed:
        backend.infer(served, 1, inputs)

    assert not failed.value.retryable


def test_a_models_own_error_is_cleaned_and_kept(backend: ServingBackend, served: str) -> None:
    thirteen = [Tensor("x", "FP32", np.full((1, 4), 13))]

    with pytest.raises(InferenceFailed, match="thirteen <b>rows</b>") as failed:
        backend.infer(served, None, thirteen)

    assert "\x1b" not in failed.value.message
    assert "\x1b[1mthirteen" in failed.value.facts["reason"]


def test_a_late_answer_is_told_apart_from_a_wrong_one(backend: ServingBackend, served: str) -> None:
    fourteen = [Tensor("x", "FP32", np.full((1, 4), 14))]

    with pytest.raises(InferenceLate, match="no answer in time"):
        backend.infer(served, None, fourteen, timeout_s=0.3)


@pytest.mark.parametrize(("model", "version"), [("served", 2), ("nobody", None), ("nobody", 1)])
def test_what_is_not_loaded_is_unavailable(
    backend: ServingBackend, served: str, model: str, version: int | None
) -> None:
    with pytest.raises(ModelUnavailable, match="Request for unknown model"):
        backend.infer(model, version, ones())


def test_statistics_count_requests_and_failures_in_microseconds(triton: Triton, backend: ServingBackend) -> None:
    python_model(triton.repository, "counted", 3, execute="time.sleep(0.02)\nif x[0, 0] == 13: raise ValueError(13)")
    load(backend, "counted", 3)
    ask(backend, "counted")
    with pytest.raises(InferenceFailed):
        backend.infer("counted", None, [Tensor("x", "FP32", np.full((1, 4), 13))])
    # Triton answers first and counts afterwards.
    assert eventually(lambda: backend.statistics("counted")[0].failure_count == 1)

    (counted,) = backend.statistics("counted")

    assert (counted.model, counted.version) == ("counted", 3)
    assert (counted.success_count, counted.failure_count) == (2, 1)
    assert counted.success_us >= counted.compute_us >= 40_000
    assert counted.last_inference_ms > 1_600_000_000_000
    assert counted in backend.statistics()


def test_statistics_of_a_model_that_is_not_loaded_are_unavailable(backend: ServingBackend) -> None:
    with pytest.raises(ModelUnavailable):
        backend.statistics("nobody")


def test_a_loaded_version_tells_the_signature_its_config_declares(backend: ServingBackend, served: str) -> None:
    declared = CONFIG.parse(config_text(served)).signature

    assert backend.signature(served, 1) == declared
    with pytest.raises(ModelUnavailable):
        backend.signature(served, 2)
