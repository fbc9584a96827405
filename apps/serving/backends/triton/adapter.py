"""One Triton over gRPC. Over HTTP a load would hold up every client of the same event loop."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from tritonclient.utils import InferenceServerException

from apps.common.errors import ControlPlaneError
from apps.common.names import check_name
from apps.serving.backends.triton import answers, channels, config, faults, guard, listing, memory, peer, tensors
from apps.serving.backends.triton.document import to_document
from apps.serving.errors import InferenceFailed, NotAnInferenceServer, NotExplicit
from apps.serving.memory import DeviceMemory
from apps.serving.protocol import Address, Answer, ControlMode, IndexEntry, ServerInfo, Signature, Statistics, Tensor

# Asked to unload, to learn whether the server takes such requests at all. Its suffix is reserved.
NO_SUCH_MODEL = "__conch_asks__.shadow"
# A server's name is free (`--id`); these calls are what makes it a Triton.
NEEDED_EXTENSIONS = frozenset({"model_repository", "model_configuration"})


class TritonBackend:
    """A `ServingBackend`: cheap to make, shared by threads as it is, safe to carry over a fork."""

    def __init__(self, address: Address, timeout_s: float = 5) -> None:
        self.address = address
        self.timeout_s = timeout_s
        # What it said of itself and of its readiness, and when by time.monotonic(); forgotten with the first call
        # that fails. The readiness holds for the index it was told beside, of which the hash is kept.
        self._said: tuple[ServerInfo, float] | None = None
        self._index = 0
        self._ready: tuple[bool, int, float] | None = None

    def close(self) -> None:
        """Give back this process's channel to the server; calls under way end first."""
        channels.release(self.address.grpc)

    def describe(self, *, at_most_s_old: float = 0.0) -> ServerInfo:
        """Who the server says it is; NotAnInferenceServer when it is not a Triton."""
        said = self._said
        if said is not None and time.monotonic() - said[1] < at_most_s_old:
            return said[0]
        info = self._introduction()
        self._said = info, time.monotonic()
        return info

    def _introduction(self) -> ServerInfo:
        try:
            info = answers.server_info(self._ask("get_server_metadata", doing="asking who it is"))
        except ControlPlaneError as error:
            raise peer.second_look(error, self.address, timeout_s=self.timeout_s) from error
        missing = NEEDED_EXTENSIONS.difference(info.extensions)
        if missing:
            raise NotAnInferenceServer(
                f"{self.address.name}: not a Triton: it calls itself {info.name[:80]!r} {info.version[:40]!r} "
                f"and lacks {', '.join(sorted(missing))}",
                server=self.address.name,
            )
        return info

    def control_mode(self) -> ControlMode:
        """Whether the server takes loads and unloads; asking changes nothing there."""
        try:
            self._ask("unload_model", NO_SUCH_MODEL, doing="asking for its model control mode")
        except NotExplicit:
            return ControlMode.NONE_OR_POLL
        return ControlMode.EXPLICIT

    def is_live(self) -> bool:
        """Whether the process answers at all; ServerUnreachable when nobody listens."""
        return bool(self._ask("is_server_live", doing="asking whether it is live"))

    def is_server_ready(self, *, at_most_s_old: float = 0.0) -> bool:
        """The server-wide readiness. Never a gate: it lies both ways."""
        told = self._ready
        if told is not None and told[1] == self._index and time.monotonic() - told[2] < at_most_s_old:
            return told[0]
        beside = self._index
        is_ready = bool(self._ask("is_server_ready", doing="asking whether it is ready"))
        self._ready = is_ready, beside, time.monotonic()
        return is_ready

    def index(self) -> tuple[IndexEntry, ...]:
        """Every model directory and version the server knows; not those loaded inline."""
        said = listing.read(lambda: self._ask("get_model_repository_index", doing="reading its index"))
        entries = tuple(answers.index_entry(line) for line in said.models)
        self._index = hash(entries)
        return entries

    def load(
        self,
        model: str,
        *,
        config: Mapping[str, Any] | None = None,
        files: Mapping[str, bytes] | None = None,
        timeout_s: float,
    ) -> None:
        """Load as `config` says; `files` are paths in the model's directory, and their bytes."""
        more: dict[str, Any] = {}
        if config is not None:
            more["config"] = guard.override(model, config)
        if files:
            more["files"] = guard.file_overrides(files)
        self._control("load_model", model, doing=f"loading {model!r}", timeout_s=timeout_s, **more)

    def unload(self, model: str, *, timeout_s: float) -> None:
        """Ask for the unload; it is done when the index says so."""
        self._control("unload_model", model, doing=f"unloading {model!r}", timeout_s=timeout_s)

    def is_ready(self, model: str, version: int) -> bool:
        """The version's own readiness; False too for one that does not exist."""
        return bool(self._ask("is_model_ready", *_which(model, version), doing=f"asking after {model!r} {version}"))

    def infer(self, model: str, version: int | None, inputs: Sequence[Tensor], *, timeout_s: float = 10) -> Answer:
        """One request; InferenceFailed with the server's words otherwise."""
        name, number = _which(model, version)
        doing = f"asking {model!r} {number or 'unversioned'}"
        call = {"headers": guard.control_headers(self.address), "client_timeout": timeout_s}
        try:
            return tensors.ask(channels.client(self.address.grpc), name, number, inputs, **call)
        except InferenceServerException as error:
            raise faults.inference_fault(
                error, server=self.address.name, doing=doing, model=model, version=version
            ) from error
        except tensors.UnusableTensor as error:
            raise InferenceFailed(
                f"{self.address.name}: {doing}: {error}", reason=str(error), model=model, version=version
            ) from error

    def statistics(self, model: str = "") -> tuple[Statistics, ...]:
        """Counts per version; of every loaded model when `model` is empty."""
        names = [check_name(model, what="model")] if model else []
        said = self._ask("get_inference_statistics", *names, doing=f"reading the statistics of {model or 'all models'}")
        return tuple(answers.statistics(line) for line in said.model_stats)

    def signature(self, model: str, version: int) -> Signature:
        """Inputs and outputs as the loaded version tells them."""
        return config.signature_of(self._config(model, version, doing=f"reading the signature of {model!r} {version}"))

    def configuration(self, model: str, version: int) -> Mapping[str, Any]:
        """The loaded version's whole configuration as the server tells it, defaults filled in."""
        return to_document(self._config(model, version, doing=f"reading the configuration of {model!r} {version}"))

    def memory(self) -> tuple[DeviceMemory, ...]:
        """The cards' memory, else the machine's, from the metrics that Prometheus scrapes too."""
        return memory.read(self.address)

    def _config(self, model: str, version: int, *, doing: str) -> Any:
        return self._ask("get_model_config", *_which(model, version), doing=doing).config

    def _ask(self, call: str, *arguments: str, doing: str) -> Any:
        try:
            return self._call(call, *arguments, timeout_s=self.timeout_s)
        except InferenceServerException as error:
            self._said = self._ready = None
            raise faults.call_fault(error, server=self.address.name, doing=doing) from error

    def _control(self, call: str, model: str, *, doing: str, timeout_s: float, **more: Any) -> None:
        check_name(model, what="model")
        try:
            self._call(call, model, timeout_s=timeout_s, **more)
        except InferenceServerException as error:
            raise faults.load_fault(error, server=self.address.name, doing=doing, model=model) from error

    def _call(self, call: str, *arguments: str, timeout_s: float, **more: Any) -> Any:
        headers = guard.control_headers(self.address)
        client = channels.client(self.address.grpc)
        return getattr(client, call)(*arguments, headers=headers, client_timeout=timeout_s, **more)


def _which(model: str, version: int | None) -> tuple[str, str]:
    check_name(model, what="model")
    return model, "" if version is None else guard.check_version(model, version)
