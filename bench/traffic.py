"""Six clients that ask all the time, in a process of their own: `python -m bench.traffic PLAN.json`.

The plan: `model`, `servers` (gRPC addresses), `clients`, `rate` (requests a second of each client) and `out`. At
SIGTERM every request that was made is written to `out`, one JSON list a line, in the fields' order of
`bench.figures.Request`.
"""

import gc
import json
import random
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

TIMEOUT_S = 30.0


class Client:
    """One connection to one server, asking at its own pace; unversioned, as clients do."""

    def __init__(self, plan: dict[str, Any], number: int) -> None:
        self.kept: list[tuple[float, float, int, int, str]] = []
        self._server = number % len(plan["servers"])
        self._model = plan["model"]
        self._pause_s = 1 / float(plan["rate"])
        self._random = random.Random(number)
        self._client = triton.InferenceServerClient(plan["servers"][self._server])
        self._tensor = triton.InferInput("x", [1, 4], "FP32")
        self._tensor.set_data_from_numpy(np.ones((1, 4), np.float32))
        self._wanted = [triton.InferRequestedOutput("version")]

    def run(self, stopping: threading.Event) -> None:
        """Ask until told to stop. A request that takes long is one long request, not many late ones."""
        due_s = time.monotonic() + self._random.random() * self._pause_s
        while not stopping.wait(max(0.0, due_s - time.monotonic())):
            self._ask()
            due_s = max(due_s + self._pause_s * self._random.uniform(0.5, 1.5), time.monotonic())

    def _ask(self) -> None:
        version, error, sent_s = 0, "", time.monotonic()
        try:
            answer = self._client.infer(self._model, [self._tensor], outputs=self._wanted, client_timeout=TIMEOUT_S)
            took_s = time.monotonic() - sent_s
            version = int(answer.as_numpy("version")[0, 0])
        except InferenceServerException as refused:
            took_s = time.monotonic() - sent_s
            error = str(refused)[:200] or "failed"
        self.kept.append((sent_s, took_s * 1000, self._server, version, error))


def main() -> None:
    """Run the clients until SIGTERM; then write what they saw."""
    plan = json.loads(Path(sys.argv[1]).read_text())
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    clients = [Client(plan, number) for number in range(plan["clients"])]
    threads = [threading.Thread(target=client.run, args=[stopping]) for client in clients]
    # A collection would be measured as a slow server.
    gc.collect()
    gc.disable()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Path(plan["out"]).open("w") as out:
        out.writelines(json.dumps(kept) + "\n" for client in clients for kept in client.kept)


if __name__ == "__main__":
    main()
