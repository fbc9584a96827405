"""Images as inputs."""

import io
from typing import Any

import pytest
from PIL import Image

from apps.registry.errors import SampleInvalid
from apps.registry.images import entry_from_image, image_input, image_inputs


def signature(shape: list[int], datatype: str = "FP32", batch: int = 8) -> dict[str, Any]:
    return {"inputs": [{"name": "pixels", "datatype": datatype, "shape": shape}], "max_batch_size": batch}


def png(width: int, height: int, colour: tuple[int, int, int]) -> bytes:
    kept = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(kept, "PNG")
    return kept.getvalue()


@pytest.mark.parametrize(
    ("shape", "batch", "on_the_wire"),
    [
        ([3, 32, 48], 8, (1, 3, 32, 48)),
        ([32, 48, 3], 0, (32, 48, 3)),
        ([-1, -1, 3], 8, (1, 224, 224, 3)),
        ([28, 28], 8, (1, 28, 28)),
        ([1, 28, 28], 0, (1, 28, 28)),
    ],
)
def test_an_image_shaped_input_is_known_by_its_dims(shape: list[int], batch: int, on_the_wire: tuple[int, ...]) -> None:
    found = image_input(signature(shape, batch=batch))

    assert found.shape == on_the_wire


@pytest.mark.parametrize("told", [signature([64]), signature([3, 32, 48], "BYTES"), signature([4, 4]), {"inputs": []}])
def test_other_inputs_take_no_image(told: dict[str, Any]) -> None:
    assert image_inputs(told) == ()
    with pytest.raises(SampleInvalid, match="0 inputs take an image"):
        image_input(told)


def test_of_several_inputs_one_says_which_the_image_is_for() -> None:
    inputs = [
        {"name": "mask", "datatype": "UINT8", "shape": [8, 8, 1], "is_optional": True},
        {"name": "left", "datatype": "FP32", "shape": [3, 8, 8]},
        {"name": "gain", "datatype": "FP32", "shape": [1]},
    ]
    both = {"inputs": inputs, "max_batch_size": 0}

    assert [one.name for one in image_inputs(both)] == ["left", "mask"]
    assert image_input(both, name="mask").name == "mask"
    with pytest.raises(SampleInvalid, match="2 inputs take an image: left, mask"):
        image_input(both)
    with pytest.raises(SampleInvalid, match="no input 'gain' takes an image"):
        image_input(both, name="gain")


def test_channels_come_where_the_model_has_them_and_floats_are_between_0_and_1() -> None:
    wanted = image_input(signature([3, 2, 2]))

    entry = entry_from_image(png(8, 8, (255, 0, 51)), wanted)

    assert entry["shape"] == [1, 3, 2, 2]
    assert entry["data"] == [1.0] * 4 + [0.0] * 4 + [0.2] * 4


def test_integers_stay_as_the_image_has_them() -> None:
    wanted = image_input(signature([2, 2, 3], "UINT8"))

    assert entry_from_image(png(2, 2, (255, 0, 51)), wanted)["data"] == [255, 0, 51] * 4


@pytest.mark.parametrize("content", [b"", b"not an image", png(4, 4, (1, 2, 3))[:40]])
def test_what_is_no_image_is_refused_with_the_way_out(content: bytes) -> None:
    wanted = image_input(signature([2, 2, 3]))

    with pytest.raises(SampleInvalid, match="cannot be read as an image") as refused:
        entry_from_image(content, wanted)
    assert "PNG" in str(refused.value.hint)
