"""An image as one input of a model that takes images. Pure.

A shape is image-shaped when it is height x width, or that with 1, 3 or 4 channels before or behind; batch aside.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError

from apps.registry.errors import SampleInvalid
from apps.registry.samples import FLOATS, INTEGERS, MAX_ELEMENTS

MODES = {1: "L", 3: "RGB", 4: "RGBA"}
# Where the model leaves a side open, most classifiers were trained at this one.
USUAL_SIDE = 224
MOST_PIXELS = 50_000_000
FLAT, DEEP = 2, 3


@dataclass(frozen=True, slots=True)
class ImageInput:
    """How an image goes into one input: `shape` as on the wire, channels first or last (None: no channel axis)."""

    name: str
    datatype: str
    shape: tuple[int, ...]
    height: int
    width: int
    channels: int
    channel_axis: int | None


def image_inputs(signature: Mapping[str, Any]) -> tuple[ImageInput, ...]:
    """The image-shaped inputs of a signature, those it cannot do without first."""
    batch = (1,) if signature.get("max_batch_size") else ()
    inputs = sorted(signature.get("inputs", ()), key=lambda one: bool(one.get("is_optional")))
    return tuple(found for one in inputs if (found := _as_image(one, batch)) is not None)


def image_input(signature: Mapping[str, Any], *, name: str = "") -> ImageInput:
    """The input of that name, or the only one that takes an image; SampleInvalid where none does, or which is open."""
    found = image_inputs(signature)
    named = [one for one in found if name in {"", one.name}]
    if len(named) == 1:
        return named[0]
    names = ", ".join(one.name for one in found) or "none"
    raise SampleInvalid(
        f"no input {name!r} takes an image" if name else f"{len(found)} inputs take an image: {names}",
        hint=f"Inputs that take one: {names}.",
        field="image_input" if found else "image",
    )


def _as_image(tensor: Mapping[str, Any], batch: tuple[int, ...]) -> ImageInput | None:
    laid = _layout([int(size) for size in tensor["shape"]])
    if laid is None or tensor["datatype"] not in {**INTEGERS, **FLOATS}:
        return None
    height, width, channels, axis = laid
    plain = (height, width)
    shape = {None: plain, 0: (channels, *plain), 2: (*plain, channels)}[axis]
    return ImageInput(tensor["name"], tensor["datatype"], batch + shape, height, width, channels, axis)


def _layout(shape: Sequence[int]) -> tuple[int, int, int, int | None] | None:
    """Height, width, channels and the channels' axis."""
    sides = [size if size > 0 else USUAL_SIDE for size in shape]
    if len(shape) == FLAT and min(sides) > max(MODES):
        return sides[0], sides[1], 1, None
    if len(shape) == DEEP and shape[0] in MODES:
        return sides[1], sides[2], sides[0], 0
    if len(shape) == DEEP and shape[2] in MODES:
        return sides[0], sides[1], sides[2], 2
    return None


def entry_from_image(content: bytes, wanted: ImageInput) -> dict[str, Any]:
    """The image, scaled to size, as an entry: integers 0..255, floats 0..1, no further normalisation."""
    if wanted.height * wanted.width * wanted.channels > MAX_ELEMENTS:
        raise SampleInvalid(f"input {wanted.name!r} is too large for an image", field="image")
    picture = _open(content).convert(MODES[wanted.channels]).resize((wanted.width, wanted.height))
    pixels = np.asarray(picture).reshape(wanted.height, wanted.width, wanted.channels)
    if wanted.channel_axis == 0:
        pixels = pixels.transpose(2, 0, 1)
    values = (pixels / 255 if wanted.datatype in FLOATS else pixels).reshape(-1)
    data = [round(value, 6) for value in values.tolist()]
    return {"name": wanted.name, "datatype": wanted.datatype, "shape": list(wanted.shape), "data": data}


def _open(content: bytes) -> Image.Image:
    try:
        with Image.open(io.BytesIO(content)) as found:
            if found.width * found.height > MOST_PIXELS:
                raise SampleInvalid(f"the image has more than {MOST_PIXELS:,} pixels", field="image")
            found.load()
            return found.copy()
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError) as error:
        raise SampleInvalid(
            f"this cannot be read as an image: {type(error).__name__}", hint="Send a PNG or a JPEG.", field="image"
        ) from error
