"""Sends held-out images to every server all the time: `python -m demo.traffic PLAN.json`.

The plan: `model`, `held_out` (a file), `rate` (requests a second for each client) and
`servers` (`name`, `grpc`, `http`). Two clients for each server, one over gRPC, one over HTTP;
requests come at random moments, unversioned. A server that is away is tried again.
"""

import http.client
import json
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
import tritonclient.grpc as triton_grpc
from tritonclient.utils import InferenceServerException

TIMEOUT_S = 5.0
PAUSE_AFTER_FAILURE_S = 0.5
REPORT_EVERY_S = 30.0


class Client(Protocol):
    """One connection to one server."""

    def label(self, image: list[float]) -> int:
        """What the server says the image shows."""


class GrpcClient:
    """Over gRPC; the channel connects again by itself."""

    def __init__(self, address: str, model: str) -> None:
        self._client = triton_grpc.InferenceServerClient(address)
        self._model = model
        self._pixels = triton_grpc.InferInput("pixels", [1, 64], "FP32")

    def label(self, image: list[float]) -> int:
        """One inference."""
        self._pixels.set_data_from_numpy(np.array([image], dtype=np.float32))
        wanted = [triton_grpc.InferRequestedOutput("label")]
        answer = self._client.infer(self._model, [self._pixels], outputs=wanted, client_timeout=TIMEOUT_S)
        return int(answer.as_numpy("label")[0, 0])


class HttpClient:
    """Over HTTP with JSON, one connection kept open."""

    def __init__(self, address: str, model: str) -> None:
        self._connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
        self._path = f"/v2/models/{model}/infer"

    def label(self, image: list[float]) -> int:
        """One inference."""
        pixels = {"name": "pixels", "datatype": "FP32", "shape": [1, 64], "data": image}
        body = json.dumps({"inputs": [pixels], "outputs": [{"name": "label"}]})
        try:
            self._connection.request("POST", self._path, body)
            answer = self._connection.getresponse()
            said: dict[str, Any] = json.loads(answer.read())
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        if answer.status != 200:
            raise OSError(said.get("error", answer.status))
        return int(said["outputs"][0]["data"][0])


class Source:
    """One client sending images at random moments, counting what comes back."""

    def __init__(self, plan: dict[str, Any], server: dict[str, str], *, is_grpc: bool) -> None:
        self.name = f"{server['name']} over {'gRPC' if is_grpc else 'HTTP'}"
        self.counts: Counter[str] = Counter()
        self.trouble = ""
        held_out = json.loads(Path(plan["held_out"]).read_text())
        self._pairs = list(zip(held_out["images"], held_out["labels"], strict=True))
        self._rate = float(plan["rate"])
        self._ready_at = server["http"], f"/v2/models/{plan['model']}/ready"
        kind: Callable[[str, str], Client] = GrpcClient if is_grpc else HttpClient
        self._client = kind(server["grpc" if is_grpc else "http"], plan["model"])
        self._random = random.Random(self.name)

    def run(self) -> NoReturn:
        """Send for ever."""
        self._wait_for_model()
        due_s = time.monotonic()
        while True:
            due_s = max(due_s + self._random.expovariate(self._rate), time.monotonic() - 1)
            time.sleep(max(0.0, due_s - time.monotonic()))
            self._send(*self._random.choice(self._pairs))

    def _send(self, image: list[float], label: int) -> None:
        try:
            said = self._client.label(image)
        except (OSError, http.client.HTTPException, InferenceServerException) as error:
            self.counts["failed"] += 1
            self.trouble = str(error)[:200]
            time.sleep(PAUSE_AFTER_FAILURE_S)
            self._wait_for_model()
        else:
            self.counts["right" if said == label else "wrong"] += 1

    def _wait_for_model(self) -> None:
        """Ask nothing of a server that has no such model: it would count as failures."""
        while not is_ok(*self._ready_at):
            time.sleep(PAUSE_AFTER_FAILURE_S)


def is_ok(address: str, path: str) -> bool:
    """True when a GET gives 200."""
    connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def main() -> None:
    """Run all sources; say every 30 s what came back."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    plan = json.loads(Path(sys.argv[1]).read_text())
    sources = [Source(plan, server, is_grpc=is_grpc) for server in plan["servers"] for is_grpc in (True, False)]
    for source in sources:
        threading.Thread(target=source.run, daemon=True).start()
    while True:
        time.sleep(REPORT_EVERY_S)
        for source in sources:
            counts, source.counts = source.counts, Counter()
            print(f"{time.strftime('%H:%M:%S')} {source.name}: {dict(counts)} {source.trouble}", flush=True)
            source.trouble = ""


if __name__ == "__main__":
    main()
