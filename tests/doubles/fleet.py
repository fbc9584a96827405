"""A simulated fleet as a part to start and stop, and each of its servers as if it were a Triton of its own."""

import json
import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from demo.parts.part import Part
from demo.parts.ports import free_port
from demo.parts.process import Child
from demo.parts.prometheus import answers
from demo.parts.triton import ControlMode, OnLoopback, TritonPorts

ROOT = Path(__file__).resolve().parents[2]


class SimulatedTriton(OnLoopback):
    """One server of a fleet; it offers what tests use of demo.parts.triton.Triton, and faults besides."""

    def __init__(
        self,
        fleet: "SimulatedFleet",
        name: str,
        *,
        repository: Path,
        ports: TritonPorts | None = None,
        control_mode: ControlMode = "explicit",
        load_models: Sequence[str] | None = (),
        strict_readiness: bool = False,
        restricted_key: str | None = None,
        gpu_bytes: int = 0,
    ) -> None:
        self.name = name
        self.repository = repository.resolve()
        self.repository.mkdir(parents=True, exist_ok=True)
        self.ports = ports or TritonPorts.free()
        self._fleet = fleet
        self._options = {
            "control_mode": control_mode,
            "load_models": None if load_models is None else list(load_models),
            "strict_readiness": strict_readiness,
            "restricted_key": restricted_key,
            "gpu_bytes": gpu_bytes,
        }

    @property
    def key(self) -> str:
        """Its name within the fleet's process: several tests may call a server the same."""
        return f"{self.name}-{self.ports.grpc}"

    def document(self) -> dict[str, Any]:
        """As the fleet's process takes it."""
        ports = {"grpc": self.ports.grpc, "http": self.ports.http, "metrics": self.ports.metrics}
        return {"name": self.key, "repository": str(self.repository), **ports, **self._options}

    def start(self, *, is_empty: bool = False) -> None:
        """Come back after kill(); `is_empty` as one that was started without --load-model."""
        self._fleet.tell(self.key, "start", is_empty=is_empty)

    def kill(self) -> None:
        """Gone at once, with all connections."""
        self._fleet.tell(self.key, "kill")

    def pause(self) -> None:
        """Hang: connections stay open and nothing answers."""
        self._fleet.tell(self.key, "pause")

    def resume(self) -> None:
        """Go on after pause()."""
        self._fleet.tell(self.key, "resume")

    def disturb(self, *, slow_s: float = 0.0, load_s: float = 0.0, fail_load: str = "", leaks: bool = False) -> None:
        """From now on: answer slowly, load slowly, fail every load with these words, keep the memory of what unloads.

        Without arguments: be well.
        """
        self._fleet.tell(self.key, "faults", slow_s=slow_s, load_s=load_s, fail_load=fail_load, leaks=leaks)


class SimulatedFleet(Part):
    """One process with as many simulated Tritons as are added to it."""

    def __init__(self, root: Path) -> None:
        self.name = "simulated-fleet"
        self.root = root
        self.port = free_port()

    def make_child(self) -> Child:
        """The process; it has no servers yet."""
        command: list[str | Path] = [sys.executable, "-m", "tests.doubles.triton", str(self.port)]
        return Child(self.name, command, log=self.root / "fleet.log", cwd=ROOT)

    def is_ready(self) -> bool:
        """True when it takes orders."""
        return answers(f"http://127.0.0.1:{self.port}/")

    def add(self, *servers: SimulatedTriton) -> None:
        """Start them, all at once; they have loaded what they load at their start when this returns."""
        self._post("servers", [server.document() for server in servers])

    def tell(self, name: str, what: str, **asked: Any) -> None:
        """Have one server do something; it is done when this returns."""
        self._post(f"servers/{name}/{what}", asked)

    def cpu_s(self) -> float:
        """The CPU time its process has used so far: simulating costs too."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=60) as answer:
            return float(json.load(answer)["cpu_s"])

    def _post(self, path: str, document: Any) -> None:
        url = f"http://127.0.0.1:{self.port}/{path}"
        request = urllib.request.Request(url, json.dumps(document).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=300) as answer:
            answer.read()
