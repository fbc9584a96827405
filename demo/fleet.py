"""The demo's three Tritons: one in staging, two in prod that share one repository."""

from dataclasses import dataclass

from demo.home import Home
from demo.parts.triton import Triton, TritonPorts
from demo.parts.triton_environment import TritonEnvironment

RANKS = {"staging": 10, "prod": 20}
SERVERS = {"staging-1": "staging", "prod-1": "prod", "prod-2": "prod"}


@dataclass(frozen=True)
class FleetServer:
    """One Triton and the environment it serves in."""

    name: str
    environment: str
    triton: Triton

    def addresses(self) -> dict[str, str]:
        """As scripts and the REST API want them: `host:port`."""
        return {"grpc": self.triton.grpc, "http": self.triton.http, "metrics": self.triton.metrics}


def make_fleet(home: Home, environment: TritonEnvironment) -> list[FleetServer]:
    """All servers, not started, on the ports they had last time."""
    return [_make(name, where, home=home, environment=environment) for name, where in SERVERS.items()]


def _make(name: str, where: str, *, home: Home, environment: TritonEnvironment) -> FleetServer:
    # Fixed: Conch knows its servers by these.
    http, grpc, metrics = (home.port(f"{name}.{kind}", is_fixed=True) for kind in ("http", "grpc", "metrics"))
    triton = Triton(
        home.state / "tritons" / name,
        environment=environment,
        repository=home.state / "repositories" / where,
        ports=TritonPorts(http=http, grpc=grpc, metrics=metrics),
        load_models=None,
        name=f"triton {name}",
    )
    return FleetServer(name=name, environment=where, triton=triton)
