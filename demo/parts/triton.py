"""A real Triton on loopback."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from demo.parts.part import Part
from demo.parts.ports import free_port
from demo.parts.process import Child
from demo.parts.prometheus import answers
from demo.parts.triton_environment import TritonEnvironment

ControlMode = Literal["explicit", "poll", "none"]
QUANTILES = "0.5:0.05,0.9:0.01,0.95:0.005,0.99:0.001"
SHARED_MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class TritonPorts:
    """The three ports of one server."""

    http: int
    grpc: int
    metrics: int

    @classmethod
    def free(cls) -> "TritonPorts":
        """Three that nobody uses."""
        return cls(http=free_port(), grpc=free_port(), metrics=free_port())


class OnLoopback:
    """Where a server on this machine is found, by its ports."""

    ports: TritonPorts

    @property
    def http(self) -> str:
        """`127.0.0.1:port`, without scheme: what tritonclient.http takes."""
        return f"127.0.0.1:{self.ports.http}"

    @property
    def grpc(self) -> str:
        """`127.0.0.1:port`."""
        return f"127.0.0.1:{self.ports.grpc}"

    @property
    def metrics(self) -> str:
        """`127.0.0.1:port`; the path is /metrics."""
        return f"127.0.0.1:{self.ports.metrics}"


class Triton(OnLoopback, Part):
    """One server; `root` holds its log, `repository` its models.

    `load_models`: which it loads at its start; None means what lies in the repository then.
    `restricted_key` ("name=value") makes its model control API ask for that header.
    `summaries` gives percentiles, which cost throughput at high rates.
    """

    start_timeout_s = 60.0

    def __init__(
        self,
        root: Path,
        *,
        environment: TritonEnvironment,
        repository: Path,
        ports: TritonPorts | None = None,
        control_mode: ControlMode = "explicit",
        load_models: Sequence[str] | None = (),
        strict_readiness: bool = False,
        restricted_key: str | None = None,
        summaries: bool = True,
        options: Sequence[str] = (),
        name: str = "triton",
    ) -> None:
        self.root = root.resolve()
        self.repository = repository.resolve()
        self.ports = ports or TritonPorts.free()
        self.load_models = load_models
        self.name = name
        self._environment = environment
        self._control_mode = control_mode
        self._strict_readiness = strict_readiness
        self._restricted_key = restricted_key
        self._summaries = summaries
        self._options = list(options)
        self._region = f"conch_{hashlib.sha256(str(self.root).encode()).hexdigest()[:12]}"

    def make_child(self) -> Child:
        """The server; what it loads at its start is looked up anew."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.repository.mkdir(parents=True, exist_ok=True)
        self._drop_shared_memory()
        variables = self._environment.variables()
        return Child(self.name, self._command(), log=self.root / "triton.log", env=variables, cwd=self.root)

    def is_ready(self) -> bool:
        """True when both HTTP ports answer. (Models may still be loading or have failed.)"""
        return answers(f"http://{self.http}/v2/health/live") and answers(f"http://{self.metrics}/metrics")

    def stop(self) -> None:
        """SIGTERM, SIGKILL after the deadline: with a hung load SIGTERM takes 30 s."""
        super().stop()
        self._drop_shared_memory()

    def kill(self) -> None:
        """SIGKILL to the server and its python stubs."""
        super().kill()
        self._drop_shared_memory()

    def _drop_shared_memory(self) -> None:
        for region in SHARED_MEMORY.glob(f"{self._region}*"):
            region.unlink(missing_ok=True)

    def _command(self) -> list[str | Path]:
        at = "127.0.0.1"
        return [
            self._environment.server,
            f"--model-repository={self.repository}",
            f"--backend-directory={self._environment.backends}",
            f"--backend-config=python,shm-region-prefix-name={self._region}",
            f"--model-control-mode={self._control_mode}",
            *(["--repository-poll-secs=1"] if self._control_mode == "poll" else []),
            *(f"--load-model={name}" for name in self._models_to_load()),
            f"--strict-readiness={str(self._strict_readiness).lower()}",
            f"--http-address={at}",
            f"--http-port={self.ports.http}",
            f"--grpc-address={at}",
            f"--grpc-port={self.ports.grpc}",
            f"--metrics-address={at}",
            f"--metrics-port={self.ports.metrics}",
            "--metrics-interval-ms=1000",
            "--exit-timeout-secs=5",
            # One model that does not start must not keep the others down.
            "--exit-on-error=false",
            *self._restrictions(),
            *self._summary_options(),
            *self._options,
        ]

    def _models_to_load(self) -> Sequence[str]:
        return models_in(self.repository) if self.load_models is None else self.load_models

    def _restrictions(self) -> list[str]:
        if self._restricted_key is None:
            return []
        return [
            f"--http-restricted-api=model-repository:{self._restricted_key}",
            f"--grpc-restricted-protocol=model-repository:{self._restricted_key}",
        ]

    def _summary_options(self) -> list[str]:
        if not self._summaries:
            return []
        return [
            "--metrics-config=summary_latencies=true",
            f"--metrics-config=summary_quantiles={QUANTILES}",
        ]


def models_in(repository: Path) -> list[str]:
    """The models that have a config.pbtxt and a version there; shadows are not models."""
    folders = [config.parent for config in sorted(repository.glob("*/config.pbtxt"))]
    return [
        folder.name
        for folder in folders
        if not folder.name.endswith(".shadow") and any(entry.name.isdigit() for entry in folder.iterdir())
    ]
