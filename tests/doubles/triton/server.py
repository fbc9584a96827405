"""One server's life: its three ports open and close with it."""

import asyncio
import dataclasses
from concurrent.futures import Executor
from typing import Any

from aiohttp import web

from tests.doubles.triton import grpc_door, http_door
from tests.doubles.triton.state import Options, State


class Server:
    """Starts, dies, hangs and comes back, with nothing of its old life left."""

    def __init__(self, options: Options, threads: Executor) -> None:
        self.options = options
        self.state: State | None = None
        self._threads = threads
        self._grpc: Any = None
        self._web: Any = None
        self._listening: list[asyncio.Server] = []

    async def start(self, *, load_models: tuple[str, ...] | None = None, is_empty: bool = False) -> None:
        """A new process: `load_models` or nothing at all in place of what its options say."""
        options = self.options
        if is_empty or load_models is not None:
            options = dataclasses.replace(options, load_models=() if is_empty else load_models)
        self.state = State(options, self._threads)
        await self.state.load_first()
        self._grpc = grpc_door.serve(self.state)
        await self._grpc.start()
        loop = asyncio.get_running_loop()
        self._web = web.Server(http_door.Door(self.state))
        for port in (options.http, options.metrics):
            self._listening.append(await loop.create_server(self._web, "127.0.0.1", port))

    async def kill(self) -> None:
        """Everything goes at once: ports, connections, what was loaded."""
        if self.state is None:
            return
        state, self.state = self.state, None
        for listener in self._listening:
            listener.close()
        self._listening.clear()
        await self._grpc.stop(None)
        await self._web.shutdown(0)
        state.models.close()
        # Whoever waits in a hung server must end with it.
        state.resume()
