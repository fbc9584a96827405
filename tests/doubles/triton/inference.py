"""Requests as the protocol carries them: checked in the real one's order and words, answered, put back on the wire."""

from typing import Any

import numpy as np
from tritonclient.grpc import service_pb2 as wire
from tritonclient.utils import deserialize_bytes_tensor, serialize_byte_tensor, triton_to_np_dtype

from tests.doubles.triton.backend_utils import Tensor
from tests.doubles.triton.instance import Instance, wire_datatype
from tests.doubles.triton.models import Models
from tests.doubles.triton.programs import ModelBroke
from tests.doubles.triton.refusals import INTERNAL, INVALID, Refusal, not_a_version

NO_ID = "[request id: <id_unknown>] "
BATCH_NOTE = (
    " NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each "
    "input shape. If you want to specify the full shape including the batch dim in your input dims config, try "
    "setting max_batch_size to zero. See the model configuration docs for more info on max_batch_size."
)


def version_of(text: str) -> int | None:
    """The number asked for; None where any will do."""
    if not text or text == "-1":
        return None
    if not text.isdigit():
        raise not_a_version(text)
    return int(text)


async def infer(models: Models, request: Any) -> Any:
    """The answer to one ModelInferRequest."""
    name = request.model_name
    instance = models.serving(name, version_of(request.model_version))
    inputs = _inputs(request, instance.config, name)
    try:
        outputs = await instance.answer(inputs)
    except ModelBroke as broke:
        words = f"Failed to process the request(s) for model '{name}_0_0', message: {broke}"
        raise Refusal(INTERNAL, words) from broke
    return _answer(request, instance, outputs)


def _inputs(request: Any, config: Any, name: str) -> list[Tensor]:
    declared = {each.name: each for each in config.input}
    for given in request.inputs:
        if given.name not in declared:
            raise Refusal(INVALID, f"unexpected inference input '{given.name}' for model '{name}'")
    _check_names(request, declared, name)
    return [
        _input(given, request.raw_input_contents[position], declared[given.name], config, name)
        for position, given in enumerate(request.inputs)
    ]


def _check_names(request: Any, declared: dict[str, Any], name: str) -> None:
    needed = {each for each, spec in declared.items() if not spec.optional}
    names = [given.name for given in request.inputs]
    missing = sorted(needed - set(names))
    if missing:
        got, lacking = ",".join(f"'{one}'" for one in names), ",".join(f"'{one}'" for one in missing)
        raise Refusal(
            INVALID,
            f"{NO_ID}expected {len(declared)} inputs but got {len(names)} inputs for model '{name}'. Got input(s) "
            f"[{got}], but missing required input(s) [{lacking}]. Please provide all required input(s).",
        )


def _input(given: Any, raw: bytes, spec: Any, config: Any, name: str) -> Tensor:
    datatype, most = wire_datatype(spec.data_type), config.max_batch_size
    if given.datatype != datatype:
        words = f"{NO_ID}inference input '{given.name}' data-type is '{given.datatype}', but model '{name}' expects "
        raise Refusal(INVALID, f"{words}'{datatype}'")
    expected = [*([-1] if most else []), *spec.dims]
    shape = list(given.shape)
    if len(shape) != len(expected) or any(want not in (-1, got) for want, got in zip(expected, shape, strict=True)):
        words = f"{NO_ID}unexpected shape for input '{given.name}' for model '{name}'. "
        told = f"Expected [{_listed(expected)}], got [{_listed(shape)}].{BATCH_NOTE if most else ''}"
        raise Refusal(INVALID, words + told)
    if most and shape[0] > most:
        raise Refusal(INVALID, f"{NO_ID}inference request batch-size must be <= {most} for '{name}'")
    try:
        return Tensor(given.name, array_of(raw, datatype, shape), datatype)
    except ValueError as error:
        words = f"{NO_ID}input byte size mismatch for input '{given.name}' for model '{name}'. "
        raise Refusal(INVALID, f"{words}Got {len(raw)}") from error


def _listed(shape: list[int]) -> str:
    return ",".join(str(size) for size in shape)


def array_of(raw: bytes, datatype: str, shape: list[int]) -> Any:
    if datatype == "BYTES":
        return deserialize_bytes_tensor(raw).reshape(shape)
    dtype = np.uint16 if datatype == "BF16" else triton_to_np_dtype(datatype)
    return np.frombuffer(raw, dtype=dtype).reshape(shape)


def _answer(request: Any, instance: Instance, outputs: list[Tensor]) -> Any:
    asked = {each.name for each in request.outputs}
    answer = wire.ModelInferResponse(model_name=request.model_name, model_version=str(instance.number), id=request.id)
    declared = {each.name: wire_datatype(each.data_type) for each in instance.config.output}
    for tensor in outputs:
        if asked and tensor.name() not in asked:
            continue
        datatype = tensor.datatype or declared[tensor.name()]
        answer.outputs.add(name=tensor.name(), datatype=datatype, shape=list(tensor.array.shape))
        answer.raw_output_contents.append(_bytes(tensor.array, datatype))
    return answer


def _bytes(array: Any, datatype: str) -> bytes:
    if datatype == "BYTES":
        packed = serialize_byte_tensor(array)
        return bytes(packed.item()) if packed.size else b""
    return bytes(np.ascontiguousarray(array).tobytes())
