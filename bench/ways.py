"""The same change of a model from version 1 to 2 and back, by what people use without Conch."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import tritonclient.grpc as triton_grpc
import tritonclient.http as triton_http
from google.protobuf import json_format, text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig

from bench.model import lay_out
from demo.parts.triton import Triton
from tests.factories.triton_models import config_text

LOAD_TIMEOUT_S = 120
MODEL = "echo"


class Way(Protocol):
    """One way to change what two servers serve; `is_at_once` tells whether the servers load side by side."""

    is_at_once: bool

    def begin(self) -> None:
        """Version 1 as the first ever, on servers that run."""

    def bring_new(self) -> None:
        """Version 2 beside or instead of 1."""

    def bring_back(self) -> None:
        """Version 1 alone."""


class LoadModel:
    """Bare `load_model` with a version policy that keeps the old version beside the new one."""

    is_at_once = False

    def __init__(self, servers: Sequence[Triton], *, is_grpc: bool) -> None:
        self._loads = [_loader(server, is_grpc=is_grpc) for server in servers]
        for version in (1, 2):
            lay_out(servers[0].repository, MODEL, version, with_config=version == 1)

    def begin(self) -> None:
        """Version 1 as the first ever."""
        self.bring_back()

    def bring_new(self) -> None:
        """Servers one after another, the old version beside the new one."""
        for load in self._loads:
            load(_config([1, 2]))

    def bring_back(self) -> None:
        """All servers at once."""
        with ThreadPoolExecutor(len(self._loads)) as pool:
            list(pool.map(lambda load: load(_config([1])), self._loads))


class PollMode:
    """A version directory put in or taken away; the servers look every second."""

    is_at_once = True

    def __init__(self, servers: Sequence[Triton]) -> None:
        self._repository = servers[0].repository
        self._aside = self._repository.parent / "aside"
        lay_out(self._repository, MODEL, 1, with_config=True)
        lay_out(self._aside, MODEL, 2)

    def begin(self) -> None:
        """Nothing to do: the servers load what lies there."""

    def bring_new(self) -> None:
        """Renamed in, so that no server sees half of it."""
        (self._aside / MODEL / "2").rename(self._repository / MODEL / "2")

    def bring_back(self) -> None:
        """Renamed away: a server that sees half a version hangs on it."""
        (self._repository / MODEL / "2").rename(self._aside / MODEL / "2")


def _loader(server: Triton, *, is_grpc: bool) -> Callable[[str], None]:
    if is_grpc:
        over_grpc = triton_grpc.InferenceServerClient(server.grpc)
        return lambda config: over_grpc.load_model(MODEL, config=config, client_timeout=LOAD_TIMEOUT_S)
    return lambda config: _load_over_http(server, config)


def _load_over_http(server: Triton, config: str) -> None:
    """With a client made in the calling thread: its connections cannot change threads."""
    client = triton_http.InferenceServerClient(server.http, network_timeout=LOAD_TIMEOUT_S)
    client.load_model(MODEL, config=config)
    client.close()


def _config(versions: list[int]) -> str:
    message = text_format.Parse(config_text(MODEL), ModelConfig())
    message.version_policy.specific.versions.extend(versions)
    document = json_format.MessageToDict(message, preserving_proto_field_name=True)
    document["version_policy"]["specific"]["versions"] = versions
    return json.dumps(document)
