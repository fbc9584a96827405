"""The six clients, and eyes on the servers: who answers with which version, and since when."""

import json
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from bench.figures import Request
from demo.home import REPOSITORY
from demo.parts.process import Child
from demo.parts.triton import Triton

CLIENTS = 6
REQUESTS_PER_CLIENT_S = 20
LOOK_EVERY_S = 0.01
PATIENCE_S = 60.0


class Traffic:
    """Six clients of these servers for as long as the `with` block lasts; then `requests` holds all they saw."""

    def __init__(self, folder: Path, servers: Sequence[Triton], model: str) -> None:
        self.requests: list[Request] = []
        self._out = folder / f"traffic-{time.monotonic_ns()}"
        plan = {"model": model, "servers": [server.grpc for server in servers], "out": str(self._out)}
        plan_file = self._out.with_suffix(".json")
        plan_file.write_text(json.dumps({**plan, "clients": CLIENTS, "rate": REQUESTS_PER_CLIENT_S}))
        words: list[str | Path] = [sys.executable, "-m", "bench.traffic", plan_file]
        self._child = Child("traffic", words, log=self._out.with_suffix(".log"), cwd=REPOSITORY, grace_s=40)

    def __enter__(self) -> "Traffic":
        self._child.start()
        # Imports and first connections belong to nobody's window.
        time.sleep(3)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._child.stop(timeout_s=40)
        if kind is None:
            self.requests = [Request(*json.loads(line)) for line in self._out.read_text().splitlines()]


class Watch:
    """Asks every server, unversioned and finely, until each has answered with `version`."""

    def __init__(self, servers: Sequence[Triton], model: str, version: int) -> None:
        self._model, self._version = model, version
        self._seen_s: dict[str, float] = {}
        self._threads = [threading.Thread(target=self._look, args=[server], daemon=True) for server in servers]
        for thread in self._threads:
            thread.start()

    def wait(self) -> float:
        """When the last server answered with the version, CLOCK_MONOTONIC in seconds."""
        for thread in self._threads:
            thread.join()
        if len(self._seen_s) < len(self._threads):
            raise TimeoutError(f"{self._model}: only {sorted(self._seen_s)} answer with version {self._version}")
        return max(self._seen_s.values())

    def _look(self, server: Triton) -> None:
        client = triton.InferenceServerClient(server.grpc)
        give_up_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < give_up_s:
            if answering(client, self._model) == self._version:
                self._seen_s[server.name] = time.monotonic()
                return
            time.sleep(LOOK_EVERY_S)


def answering(client: triton.InferenceServerClient, model: str) -> int | None:
    """The version that answers an unversioned request; None when nobody does."""
    tensor = triton.InferInput("x", [1, 4], "FP32")
    tensor.set_data_from_numpy(np.ones((1, 4), np.float32))
    try:
        answer = client.infer(model, [tensor], outputs=[triton.InferRequestedOutput("version")], client_timeout=10)
    except InferenceServerException:
        return None
    return int(answer.as_numpy("version")[0, 0])
