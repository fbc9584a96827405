"""More requests at once than one instance can take, so that there is something to advise."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

AT_ONCE = 12
BATCH = 16
TIMEOUT_S = 5.0


@contextmanager
def crowd(servers: Sequence[Mapping[str, Any]], *, environment: str, model: str) -> Iterator[None]:
    """Full batches from a dozen clients at each server of the environment, until the block ends."""
    is_over = threading.Event()
    asked = [server["grpc"] for server in servers if server["environment"] == environment]
    clients = [threading.Thread(target=_ask, args=(address, model, is_over)) for address in asked * AT_ONCE]
    for client in clients:
        client.start()
    try:
        yield
    finally:
        is_over.set()
        for client in clients:
            client.join()


def _ask(address: str, model: str, is_over: threading.Event) -> None:
    client = triton.InferenceServerClient(address)
    pixels = triton.InferInput("pixels", [BATCH, 64], "FP32")
    pixels.set_data_from_numpy(np.zeros((BATCH, 64), dtype=np.float32))
    while not is_over.is_set():
        try:
            client.infer(model, [pixels], client_timeout=TIMEOUT_S)
        except InferenceServerException as error:
            print(f"{address}: {error.message()}", flush=True)
