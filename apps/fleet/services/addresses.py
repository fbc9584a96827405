"""Addresses and labels as people write them, made uniform. Pure."""

import re
from urllib.parse import urlsplit

from apps.common.text import printable
from apps.fleet.errors import BadAddress

_HOST = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?|\[[0-9a-f:.]{2,45}\])\.?")
_LABEL = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_PATH = re.compile(r"/[A-Za-z0-9_./~-]{0,200}")
# Told by service discovery and by the servers themselves.
RESERVED_LABELS = frozenset({"environment", "server", "kind", "model", "version", "job", "instance"})
MAX_PORT = 65_535
# One machine's names for itself: the same port behind any of them is the same server.
LOOPBACK = ("127.0.0.1", "localhost", "localhost.", "[::1]")
MAX_LABELS = 30
LABEL_VALUE_CHARS = 200


def clean_endpoint(text: str, *, field: str) -> str:
    """`host:port` in lower case, a scheme before it dropped, `localhost` as its number; BadAddress otherwise."""
    host, port, path = _split(text, field=field)
    if path not in {"", "/"}:
        raise _bad(text, field)
    return f"{LOOPBACK[0] if host.startswith('localhost') and host in LOOPBACK else host}:{port}"


def spellings(endpoint: str) -> list[str]:
    """Every way to write a clean `host:port` that leads to the same place."""
    host, _, port = endpoint.rpartition(":")
    return [f"{name}:{port}" for name in LOOPBACK] if host in LOOPBACK else [endpoint]


def clean_metrics(text: str) -> str:
    """`http(s)://host:port/path`; a bare `host:port` means http and /metrics."""
    host, port, path = _split(text, field="metrics")
    scheme = "https" if text.strip().lower().startswith("https://") else "http"
    where = "/metrics" if path in {"", "/"} else path
    if not _PATH.fullmatch(where):
        raise _bad(text, "metrics")
    return f"{scheme}://{host}:{port}{where}"


def _split(text: str, *, field: str) -> tuple[str, int, str]:
    plain = text.strip()
    if not plain.isprintable():
        raise _bad(text, field)
    try:
        parts = urlsplit(plain if "://" in plain else f"//{plain}")
        host, port = parts.netloc.rsplit(":", 1)[0].lower(), parts.port
    except ValueError as error:
        raise _bad(text, field) from error
    is_plain = parts.scheme in {"", "http", "https", "grpc"} and not parts.query and not parts.fragment
    if not is_plain or port is None or not 1 <= port <= MAX_PORT or not _HOST.fullmatch(host):
        raise _bad(text, field)
    return host, port, parts.path


def _bad(text: str, field: str) -> BadAddress:
    return BadAddress(f"{field} address {printable(text, limit=200)!r} is not host:port", field=field)


def clean_labels(labels: dict[str, str]) -> dict[str, str]:
    """Names Prometheus takes, short printable values."""
    if len(labels) > MAX_LABELS:
        raise BadAddress(f"{len(labels)} labels are more than {MAX_LABELS}", hint="Use fewer labels.", field="labels")
    for name, value in labels.items():
        is_good = _LABEL.fullmatch(name) and not name.startswith("__") and name not in RESERVED_LABELS
        is_good = is_good and isinstance(value, str)
        if not is_good or len(value) > LABEL_VALUE_CHARS or not value.isprintable():
            raise BadAddress(
                f"label {printable(str(name), limit=80)!r} is not allowed",
                hint=f"Names: a-z, 0-9, '_'; values: printable. Taken: {', '.join(sorted(RESERVED_LABELS))}.",
                field="labels",
            )
    return labels
