"""The gRPC side: tritonclient's own service, answered from a server's state."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
from google.protobuf import json_format
from tritonclient.grpc import service_pb2 as wire
from tritonclient.grpc import service_pb2_grpc

from tests.doubles.triton import statistics
from tests.doubles.triton.inference import version_of
from tests.doubles.triton.refusals import Refusal
from tests.doubles.triton.state import EXTENSIONS, VERSION, State

LARGEST = 64 * 2**20
OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_metadata_size", LARGEST),
    ("grpc.absolute_max_metadata_size", LARGEST),
    ("grpc.so_reuseport", 0),
]


class Door(service_pb2_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc]
    """Each call waits while the server hangs, is answered, and may be refused."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._under_way: set[asyncio.Future[Any]] = set()

    async def ServerLive(self, request: Any, context: Any) -> Any:  # noqa: N802
        return await self._answer(context, lambda: _now(wire.ServerLiveResponse(live=True)))

    async def ServerReady(self, request: Any, context: Any) -> Any:  # noqa: N802
        return await self._answer(context, lambda: _now(wire.ServerReadyResponse(ready=self.state.is_ready)))

    async def ServerMetadata(self, request: Any, context: Any) -> Any:  # noqa: N802
        said = wire.ServerMetadataResponse(name="triton", version=VERSION, extensions=EXTENSIONS)
        return await self._answer(context, lambda: _now(said))

    async def ModelReady(self, request: Any, context: Any) -> Any:  # noqa: N802
        return await self._answer(context, lambda: _now(wire.ModelReadyResponse(ready=self._is_ready(request))))

    async def ModelMetadata(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def told() -> Any:
            said = self.state.described(request.name, request.version)
            return json_format.ParseDict(said, wire.ModelMetadataResponse())

        return await self._answer(context, told)

    async def ModelConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def told() -> Any:
            instance = self.state.models.serving(request.name, version_of(request.version))
            said = wire.ModelConfigResponse()
            said.config.CopyFrom(instance.config)
            said.config.name = request.name
            return said

        return await self._answer(context, told)

    async def ModelStatistics(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def told() -> Any:
            return statistics.response(self.state.models, request.name, version_of(request.version))

        return await self._answer(context, told)

    async def ModelInfer(self, request: Any, context: Any) -> Any:  # noqa: N802
        return await self._answer(context, lambda: self.state.infer(request))

    async def RepositoryIndex(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def told() -> Any:
            said = wire.RepositoryIndexResponse()
            for name, number, slot in self.state.models.index(is_ready_only=request.ready):
                line = said.models.add(name=name)
                if slot is not None:
                    line.version, line.state, line.reason = str(number), slot.state, slot.reason
            return said

        return await self._control(context, told)

    async def RepositoryModelLoad(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def told() -> Any:
            self.state.check_explicit()
            given = request.parameters
            override = given["config"].string_param if "config" in given else None
            files = {k.removeprefix("file:"): v.bytes_param for k, v in given.items() if k.startswith("file:")}
            await self.state.models.load(request.model_name, override=override, files=files)
            return wire.RepositoryModelLoadResponse()

        return await self._control(context, told)

    async def RepositoryModelUnload(self, request: Any, context: Any) -> Any:  # noqa: N802
        async def told() -> Any:
            self.state.check_explicit()
            await self.state.models.unload(request.model_name)
            return wire.RepositoryModelUnloadResponse()

        return await self._control(context, told)

    def _is_ready(self, request: Any) -> bool:
        try:
            self.state.models.serving(request.name, version_of(request.version))
        except Refusal:
            return False
        return True

    async def _control(self, context: Any, told: Callable[[], Awaitable[Any]]) -> Any:
        async def checked() -> Any:
            self.state.check_key(dict(context.invocation_metadata()))
            return await told()

        return await self._answer(context, checked)

    async def _answer(self, context: Any, told: Callable[[], Awaitable[Any]]) -> Any:
        """A client that gives up stops nothing: what it asked for goes on and finishes."""
        task = asyncio.ensure_future(self._refusal_or(told))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        answer = await asyncio.shield(task)
        if isinstance(answer, Refusal):
            await context.abort(answer.code, answer.words)
        return answer

    async def _refusal_or(self, told: Callable[[], Awaitable[Any]]) -> Any:
        await self.state.wait_running()
        try:
            answer = await told()
        except Refusal as refused:
            answer = refused
        await self.state.wait_running()
        return answer


async def _now(answer: Any) -> Any:
    return answer


def serve(state: State) -> Any:
    """A grpc.aio server on the state's port; not yet started. All of a process share one poller."""
    server = grpc.aio.server(options=OPTIONS)
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(Door(state), server)
    server.add_insecure_port(f"127.0.0.1:{state.options.grpc}")
    return server
