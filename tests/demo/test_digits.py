"""The demo's model is what the demo says it is: good, better, wrong, slow, broken."""

import json
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from demo.parts.triton import Triton
from demo.parts.triton_environment import prepare_triton
from demo.trained import Digits, prepare_digits
from tests.demo.home import shared_home

STATS = "/v2/models/digits/versions/{}/stats"


@pytest.fixture(scope="module")
def digits() -> Digits:
    return prepare_digits(shared_home(), prepare_triton(shared_home()))


@pytest.fixture(scope="module")
def triton(digits: Digits, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Triton]:
    """A server with versions 1 to 4 side by side; 5 lies there and is not loaded."""
    root = tmp_path_factory.mktemp("digits")
    for number in range(1, 6):
        with zipfile.ZipFile(digits.archive(number)) as packed:
            packed.extractall(root / "models")
    triton = Triton(root, environment=prepare_triton(shared_home()), repository=root / "models")
    triton.start()
    post(triton, "/v2/repository/models/digits/load", {"parameters": {"config": json.dumps(four_versions())}})
    yield triton
    triton.stop()


def four_versions() -> dict[str, Any]:
    """config.pbtxt once more, as a load takes it, with a version policy."""
    return {
        "name": "digits",
        "backend": "python",
        "max_batch_size": 16,
        "input": [{"name": "pixels", "data_type": "TYPE_FP32", "dims": [64]}],
        "output": [
            {"name": "label", "data_type": "TYPE_INT64", "dims": [1]},
            {"name": "probabilities", "data_type": "TYPE_FP32", "dims": [10]},
        ],
        "instance_group": [{"count": 1, "kind": "KIND_CPU"}],
        "version_policy": {"specific": {"versions": [1, 2, 3, 4]}},
    }


def post(triton: Triton, path: str, body: object) -> dict[str, Any]:
    request = urllib.request.Request(f"http://{triton.http}{path}", data=json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        return dict(json.loads(answer.read() or b"{}"))


def labels(triton: Triton, version: int, inputs: list[dict[str, Any]]) -> list[int]:
    answer = post(triton, f"/v2/models/digits/versions/{version}/infer", {"inputs": inputs})
    return list(next(output["data"] for output in answer["outputs"] if output["name"] == "label"))


@pytest.mark.parametrize("version", [1, 2, 4])
def test_right_versions_give_the_golden_answers(triton: Triton, digits: Digits, version: int) -> None:
    samples = digits.samples()

    answers = [labels(triton, version, sample["inputs"]) for sample in samples]

    assert answers == [sample["outputs"][0]["data"] for sample in samples]


def test_version_3_gives_no_golden_answer(triton: Triton, digits: Digits) -> None:
    samples = digits.samples()

    answers = [labels(triton, 3, sample["inputs"]) for sample in samples]

    assert all(answer != sample["outputs"][0]["data"] for answer, sample in zip(answers, samples, strict=True))


def test_probabilities_add_up_to_one(triton: Triton, digits: Digits) -> None:
    answer = post(triton, "/v2/models/digits/versions/2/infer", {"inputs": digits.samples()[0]["inputs"]})

    probabilities = next(output for output in answer["outputs"] if output["name"] == "probabilities")

    assert probabilities["shape"] == [10, 10]
    assert sum(probabilities["data"]) == pytest.approx(10, abs=1e-4)


def count_right(triton: Triton, version: int, batches: list[list[float]], truth: list[int]) -> int:
    said: list[int] = []
    for batch in batches:
        said += labels(triton, version, [{"name": "pixels", "datatype": "FP32", "shape": [16, 64], "data": batch}])
    return sum(one == label for one, label in zip(said, truth, strict=True))


def test_version_2_is_better_on_held_out_images(triton: Triton, digits: Digits) -> None:
    held_out = json.loads(digits.held_out.read_text())
    images, truth = held_out["images"][:160], held_out["labels"][:160]
    batches = [[value for image in images[at : at + 16] for value in image] for at in range(0, 160, 16)]

    right = {version: count_right(triton, version, batches, truth) for version in (1, 2)}

    assert 130 < right[1] < right[2]


def test_version_4_computes_at_least_60_ms_longer(triton: Triton, digits: Digits) -> None:
    for _ in range(3):
        labels(triton, 4, digits.samples()[1]["inputs"])

    with urllib.request.urlopen(f"http://{triton.http}{STATS.format(4)}", timeout=10) as answer:
        stats = json.load(answer)["model_stats"][0]["inference_stats"]["compute_infer"]

    assert stats["ns"] / stats["count"] > 60e6


def test_version_5_says_whose_weights_it_was_given(digits: Digits, tmp_path: Path) -> None:
    with zipfile.ZipFile(digits.archive(5)) as packed:
        packed.extractall(tmp_path / "models")
    broken = Triton(tmp_path, environment=prepare_triton(shared_home()), repository=tmp_path / "models")
    broken.start()

    with pytest.raises(urllib.error.HTTPError) as refused:
        post(broken, "/v2/repository/models/digits/load", {})
    reason = refused.value.read().decode()
    refused.value.close()
    broken.stop()

    assert "the weights of a model for 28 x 28 images" in reason


def test_training_again_gives_the_same_bytes(digits: Digits, tmp_path: Path) -> None:
    again = prepare_digits(tmp_path, prepare_triton(shared_home()))

    assert [again.archive(number).read_bytes() for number in range(1, 6)] == [
        digits.archive(number).read_bytes() for number in range(1, 6)
    ]
