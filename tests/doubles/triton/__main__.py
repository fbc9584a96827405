"""`python -m tests.doubles.triton CONTROL_PORT`: a process that holds simulated servers, told what to do over HTTP.

POST /servers {options} adds and starts one; POST /servers/NAME/WHAT {...} does one of: start, kill, pause, resume,
faults {"slow_s", "load_s", "fail_load", "leaks"}. GET / answers when it is ready, with the process's CPU seconds.
"""

import asyncio
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from aiohttp import web

from tests.doubles.triton.server import Server
from tests.doubles.triton.state import Options

# Shared by all servers: busy only while a model's own code runs.
THREADS = 32


class Control:
    """The door by which a test, or a bench, moves the simulated fleet."""

    def __init__(self) -> None:
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="model")
        self.servers: dict[str, Server] = {}

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        asked: Any = await request.json() if request.can_read_body else {}
        match [word for word in request.path.split("/") if word]:
            case []:
                return web.json_response({"servers": len(self.servers), "cpu_s": time.process_time()})
            case ["servers"]:
                await asyncio.gather(*(self._add(one) for one in asked))
            case ["servers", name, what]:
                await self._do(self.servers[name], what, asked)
        return web.json_response({})

    async def _add(self, asked: dict[str, Any]) -> None:
        named = asked.pop("load_models", ())
        options = Options(**asked, load_models=None if named is None else tuple(named))
        self.servers[options.name] = server = Server(options, self.threads)
        await server.start()

    async def _do(self, server: Server, what: str, asked: dict[str, Any]) -> None:
        if what == "kill":
            await server.kill()
        elif what == "start":
            await server.start(**asked)
        else:
            assert server.state is not None, f"{server.options.name} does not run"
            _disturb(server.state, what, asked)


def _disturb(state: Any, what: str, asked: dict[str, Any]) -> None:
    if what == "pause":
        state.pause()
    elif what == "resume":
        state.resume()
    else:
        state.slow_s = asked.get("slow_s", 0.0)
        state.memory.leaks = asked.get("leaks", False)
        state.models.load_s = asked.get("load_s", 0.0)
        state.models.fail_load = asked.get("fail_load", "")


async def main(port: int) -> None:
    """Serve until the process is ended."""
    loop = asyncio.get_running_loop()
    await loop.create_server(web.Server(Control()), "127.0.0.1", port)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
