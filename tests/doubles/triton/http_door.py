"""The HTTP side: health, metadata, index, control, JSON inference, and /metrics on its own port."""

import json
from typing import Any

import numpy as np
from aiohttp import web
from google.protobuf import json_format
from tritonclient.grpc import service_pb2 as wire
from tritonclient.utils import serialize_byte_tensor, triton_to_np_dtype

from tests.doubles.triton import inference, statistics
from tests.doubles.triton.refusals import HTTP_STATUS, INVALID, Refusal
from tests.doubles.triton.state import EXTENSIONS, VERSION, State


class Door:
    """Routes by the words of the path, as few as Triton's are."""

    def __init__(self, state: State) -> None:
        self.state = state

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        await self.state.wait_running()
        try:
            answer = await self._route(request)
        except Refusal as refused:
            is_restricted = "This protocol is restricted" in refused.words
            words = refused.words.replace("This protocol", "This API")
            answer = _error(403 if is_restricted else HTTP_STATUS[refused.code], words)
        await self.state.wait_running()
        return answer

    async def _route(self, request: web.BaseRequest) -> web.Response:
        match [word for word in request.path.split("/") if word]:
            case ["metrics"]:
                return web.Response(text=statistics.exposition(self.state.models, self.state.memory))
            case ["v2"]:
                return web.json_response({"name": "triton", "version": VERSION, "extensions": EXTENSIONS})
            case ["v2", "health", which]:
                return web.Response(status=200 if which == "live" or self.state.is_ready else 400)
            case ["v2", "repository", *rest]:
                self.state.check_key(request.headers, prefix="")
                return await self._control(rest, await request.read())
            case ["v2", "models", *rest]:
                return await self._models(rest, request)
        return _error(404, "Not Found")

    async def _models(self, rest: list[str], request: web.BaseRequest) -> web.Response:
        match rest:
            case ["stats"]:
                return self._stats("", "")
            case [name, "versions", version, *what]:
                return await self._model(name, version, what, request)
            case [name, *what]:
                return await self._model(name, "", what, request)
        return _error(404, "Not Found")

    async def _control(self, rest: list[str], body: bytes) -> web.Response:
        models, asked = self.state.models, json.loads(body or b"{}")
        match rest:
            case ["index"]:
                lines = models.index(is_ready_only=bool(asked.get("ready")))
                return web.json_response([_line(name, number, slot) for name, number, slot in lines])
            case ["models", name, "load"]:
                self.state.check_explicit()
                await models.load(name, override=asked.get("parameters", {}).get("config"))
                return web.json_response(status=200, text="")
            case ["models", name, "unload"]:
                self.state.check_explicit()
                await models.unload(name)
                return web.json_response(status=200, text="")
        return _error(404, "Not Found")

    async def _model(self, name: str, version: str, rest: list[str], request: web.BaseRequest) -> web.Response:
        match rest:
            case []:
                return web.json_response(self.state.described(name, version))
            case ["ready"]:
                return self._ready(name, version)
            case ["stats"]:
                return self._stats(name, version)
            case ["config"]:
                config = self.state.models.serving(name, inference.version_of(version)).config
                said = json_format.MessageToDict(config, preserving_proto_field_name=True)
                return web.json_response({**said, "name": name})
            case ["infer"]:
                asked = _read(name, version, json.loads(await request.read()))
                return web.json_response(_said(await self.state.infer(asked)))
        return _error(404, "Not Found")

    def _ready(self, name: str, version: str) -> web.Response:
        try:
            self.state.models.serving(name, inference.version_of(version))
        except Refusal:
            return _error(400, "Model version not ready")
        return web.Response()

    def _stats(self, name: str, version: str) -> web.Response:
        said = statistics.response(self.state.models, name, inference.version_of(version))
        return web.json_response(json_format.MessageToDict(said, preserving_proto_field_name=True))


def _line(name: str, number: int | None, slot: Any) -> dict[str, str]:
    if slot is None:
        return {"name": name}
    line = {"name": name, "version": str(number), "state": slot.state}
    return {**line, "reason": slot.reason} if slot.reason else line


def _error(status: int, words: str) -> web.Response:
    return web.Response(status=status, text=json.dumps({"error": words}))


def _read(name: str, version: str, document: dict[str, Any]) -> Any:
    """A JSON request as the protocol's message."""
    asked = wire.ModelInferRequest(model_name=name, model_version=version, id=document.get("id", ""))
    for one in document.get("inputs", ()):
        asked.inputs.add(name=one["name"], datatype=one["datatype"], shape=one["shape"])
        is_text = one["datatype"] == "BYTES"
        dtype = np.object_ if is_text else triton_to_np_dtype(one["datatype"])
        try:
            array = np.array(one["data"], dtype=dtype).reshape(one["shape"])
        except (ValueError, TypeError) as error:
            raise Refusal(INVALID, str(error)) from error
        asked.raw_input_contents.append(serialize_byte_tensor(array).item() if is_text else array.tobytes())
    return asked


def _said(answer: Any) -> dict[str, Any]:
    """The protocol's message as JSON."""
    outputs = []
    for position, one in enumerate(answer.outputs):
        array = inference.array_of(answer.raw_output_contents[position], one.datatype, list(one.shape))
        flat = array.reshape(-1).tolist()
        data = [text.decode() for text in flat] if one.datatype == "BYTES" else flat
        outputs.append({"name": one.name, "datatype": one.datatype, "shape": list(one.shape), "data": data})
    return {"model_name": answer.model_name, "model_version": answer.model_version, "outputs": outputs}
