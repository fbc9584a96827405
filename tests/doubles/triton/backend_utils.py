"""What a model.py imports as `triton_python_backend_utils`, as far as models here use it."""

import json
from typing import Any

import numpy as np
from tritonclient.utils import triton_to_np_dtype


class TritonModelException(Exception):
    """What a model raises on purpose."""


class TritonError:
    """An error inside a response."""

    def __init__(self, message: str, code: int = 0) -> None:
        self._message = message

    def message(self) -> str:
        return self._message


class Tensor:
    """A named array; a datatype numpy does not know travels through DLPack only."""

    def __init__(self, name: str, array: Any, datatype: str = "") -> None:
        self._name = name
        self.array = array
        self.datatype = datatype

    def name(self) -> str:
        return self._name

    def as_numpy(self) -> Any:
        if self.datatype == "BF16":
            raise TritonModelException("BF16 has no numpy datatype")
        return self.array

    def to_dlpack(self) -> "Tensor":
        return self

    @classmethod
    def from_dlpack(cls, name: str, capsule: "Tensor") -> "Tensor":
        return cls(name, capsule.array, capsule.datatype)


class InferenceRequest:
    """One request as a model sees it."""

    def __init__(self, inputs: list[Tensor]) -> None:
        self._inputs = inputs

    def inputs(self) -> list[Tensor]:
        return self._inputs


class InferenceResponse:
    """One answer."""

    def __init__(self, output_tensors: list[Tensor] | None = None, error: TritonError | None = None) -> None:
        self.output_tensors = output_tensors or []
        self.error = error


def get_input_tensor_by_name(request: InferenceRequest, name: str) -> Tensor | None:
    return next((tensor for tensor in request.inputs() if tensor.name() == name), None)


def get_output_config_by_name(config: str | dict[str, Any], name: str) -> Any:
    document = json.loads(config) if isinstance(config, str) else config
    return next((one for one in document.get("output", ()) if one["name"] == name), None)


def triton_string_to_numpy(name: str) -> Any:
    datatype = name.removeprefix("TYPE_")
    return np.object_ if datatype == "STRING" else triton_to_np_dtype(datatype)
