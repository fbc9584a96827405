"""What Prometheus is told of a server: where to scrape it, and its labels. Pure."""

import re
from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

from apps.common.text import printable

# Labels that people give a server can never stand in for one that Conch, Prometheus or Triton gives.
PREFIX = "label_"
_NOT_A_NAME = re.compile(r"[^a-zA-Z0-9_]")
_VALUE_CHARS = 256


class Scraped(Protocol):
    """A server as this needs it."""

    name: str
    kind: str
    metrics: str
    labels: Mapping[str, str]

    @property
    def environment(self) -> Any: ...  # noqa: D102


def target_group(server: Scraped) -> dict[str, Any]:
    """The server's metrics address, either host:port or a URL, as http_sd has it."""
    address = server.metrics if "//" in server.metrics else f"http://{server.metrics}"
    parts = urlsplit(address)
    labels = {
        **own_labels(server.labels),
        "environment": server.environment.name,
        "server": server.name,
        "kind": server.kind,
        "__metrics_path__": parts.path if parts.path.strip("/") else "/metrics",
    }
    if parts.scheme == "https":
        labels["__scheme__"] = "https"
    return {"targets": [parts.netloc], "labels": labels}


def own_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """The server's own labels under names Prometheus takes; of two that become one, the second has its number."""
    found: dict[str, str] = {}
    for name, value in sorted(labels.items()):
        wanted = PREFIX + _NOT_A_NAME.sub("_", name)[:_VALUE_CHARS]
        number = sum(1 for known in found if known == wanted or known.startswith(f"{wanted}_conflict"))
        text = printable(str(value), limit=_VALUE_CHARS)
        if text:
            found[f"{wanted}_conflict{number}" if number else wanted] = text
    return found
