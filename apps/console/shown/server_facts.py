"""What a server is, whatever it serves."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from apps.common.text import printable

if TYPE_CHECKING:
    from apps.fleet.models import Repository, Server


@dataclass(frozen=True, slots=True)
class Facts:
    """What a server is: where it listens, what it said of itself; how much room its repository had when last read."""

    repository: "Repository"
    addresses: tuple[tuple[str, str], ...]
    labels: tuple[tuple[str, str], ...]
    control_key: str
    found: tuple[str, ...]
    extensions: str


def facts_of(server: "Server") -> Facts:
    """What is known of the server itself, whatever it serves."""
    observation = getattr(server, "observation", None)
    addresses = (("gRPC", server.grpc), ("HTTP", server.http), ("metrics", server.metrics))
    return Facts(
        repository=server.repository,
        addresses=tuple((name, value) for name, value in addresses if value),
        labels=tuple((str(name), str(value)) for name, value in sorted(server.labels.items())),
        control_key=server.control_key,
        found=tuple(_found(server.finding or {})),
        extensions=", ".join(map(str, observation.extensions)) if observation else "",
    )


def _found(finding: Mapping[str, Any]) -> Iterable[str]:
    for name in ("server_name", "name", "version", "control_mode"):
        value = finding.get(name)
        if isinstance(value, list | tuple):
            yield f"{len(value)} {name}" if value else f"no {name}"
        elif value not in (None, "", {}):
            yield f"{name.replace('_', ' ')} {printable(str(value), limit=80)}"
