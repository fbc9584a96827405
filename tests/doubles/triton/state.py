"""One simulated server, whatever door it is asked through: its options, its models, its faults."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.doubles.triton import inference, repository
from tests.doubles.triton.instance import wire_datatype
from tests.doubles.triton.memory import GpuMemory
from tests.doubles.triton.models import Models
from tests.doubles.triton.refusals import Refusal, not_explicit, restricted

EXTENSIONS = (
    "classification", "sequence", "model_repository", "model_repository(unload_dependents)", "schedule_policy",
    "model_configuration", "system_shared_memory", "cuda_shared_memory", "binary_tensor_data", "parameters",
    "statistics", "trace", "logging",
)  # fmt: skip
VERSION = "2.51.0"


@dataclass(frozen=True)
class Options:
    """How one server is started; the same options as the real one's (demo.parts.triton)."""

    name: str
    repository: str
    grpc: int
    http: int
    metrics: int
    control_mode: str = "explicit"
    load_models: tuple[str, ...] | None = ()
    strict_readiness: bool = False
    restricted_key: str | None = None
    gpu_bytes: int = 0


class State:
    """The server's process, so to say: a new one is made at each start."""

    def __init__(self, options: Options, threads: Executor) -> None:
        self.options = options
        self.models = Models(Path(options.repository), threads)
        self.slow_s = 0.0
        self.memory = GpuMemory(options.gpu_bytes)
        self._runs = asyncio.Event()
        self._runs.set()

    async def load_first(self) -> None:
        """What it loads at its start; one that does not come up keeps no other down."""
        named = self.options.load_models
        if self.options.control_mode != "explicit" or named is None:
            named = tuple(repository.persisted(self.models.root))
        for name in named:
            try:
                await self.models.load(name)
            except Refusal:
                continue

    def pause(self) -> None:
        """Hang: connections stay, nothing is answered."""
        self._runs.clear()

    def resume(self) -> None:
        """Go on after pause()."""
        self._runs.set()

    async def wait_running(self) -> None:
        """Returns at once, unless the server hangs."""
        await self._runs.wait()

    @property
    def is_ready(self) -> bool:
        """Server-wide readiness: with strict readiness it says no whenever anything loads or has failed."""
        return not self.options.strict_readiness or self.models.is_settled

    def check_key(self, headers: Mapping[str, str], *, prefix: str = "triton-grpc-protocol-") -> None:
        """Refuses who may not use the control API."""
        if self.options.restricted_key is None:
            return
        key, value = self.options.restricted_key.split("=", 1)
        if headers.get(f"{prefix}{key}") != value:
            raise restricted(f"{prefix}{key}")

    def check_explicit(self) -> None:
        """Refuses loads and unloads in another control mode."""
        if self.options.control_mode != "explicit":
            raise not_explicit()

    async def infer(self, request: Any) -> Any:
        """One ModelInferRequest."""
        if self.slow_s:
            await asyncio.sleep(self.slow_s)
        return await inference.infer(self.models, request)

    def described(self, name: str, version: str) -> dict[str, Any]:
        """A model's metadata, as JSON."""
        instance = self.models.serving(name, inference.version_of(version))
        config, batch = instance.config, [-1] if instance.config.max_batch_size else []
        held = self.models.held[name]
        versions = [str(n) for n, slot in sorted(held.slots.items()) if slot.state == "READY"]

        def told(tensors: Any) -> list[dict[str, Any]]:
            return [
                {"name": one.name, "datatype": wire_datatype(one.data_type), "shape": [*batch, *one.dims]}
                for one in tensors
            ]

        return {
            "name": name,
            "versions": versions,
            "platform": config.platform or config.backend,
            "inputs": told(config.input),
            "outputs": told(config.output),
        }
