"""Triton's own metrics, read for its memory: never more than a second, never more than what it may hold."""

import http.client
import math
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

from apps.common.text import printable
from apps.serving.errors import MetricsUnread
from apps.serving.memory import DeviceMemory, MemoryKind
from apps.serving.protocol import Address

TIMEOUT_S = 1.0
# A server of 2,000 models tells some megabytes.
MOST_BYTES, MOST_LINE_CHARS, MOST_DEVICES = 32 * 2**20, 1_000, 64
_FAMILIES = {
    MemoryKind.GPU: ("nv_gpu_memory_used_bytes", "nv_gpu_memory_total_bytes"),
    MemoryKind.MACHINE: ("nv_cpu_memory_used_bytes", "nv_cpu_memory_total_bytes"),
}
_PREFIXES = ("nv_gpu_memory_", "nv_cpu_memory_")


def read(address: Address, *, timeout_s: float = TIMEOUT_S) -> tuple[DeviceMemory, ...]:
    """The cards' memory, else the machine's; MetricsUnread when they are not told in time."""
    if not address.metrics:
        raise MetricsUnread(f"{address.name}: Conch has no address of its metrics", server=address.name)
    try:
        text = _text(address.metrics, deadline=time.monotonic() + timeout_s)
        return parse(text)
    except (OSError, http.client.HTTPException, ValueError) as error:
        told = printable(str(error) or type(error).__name__, limit=200)
        raise MetricsUnread(f"{address.name}: {address.metrics}: {told}", server=address.name) from error


def parse(text: str) -> tuple[DeviceMemory, ...]:
    """What the exposition says of memory; ValueError when that is no exposition.

    Measured: Triton tells 0 bytes used until it has first looked, so a 0 tells nothing.
    """
    told: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            told.setdefault(sample.name, {})[printable(sample.labels.get("gpu_uuid", ""), limit=80)] = sample.value
    for kind, (used, total) in _FAMILIES.items():
        found = tuple(_devices(kind, told.get(used, {}), told.get(total, {})))
        if found:
            return found[:MOST_DEVICES]
    return ()


def _devices(kind: MemoryKind, used: dict[str, float], total: dict[str, float]) -> Iterator[DeviceMemory]:
    for device, used_bytes in sorted(used.items()):
        total_bytes = total.get(device, math.nan)
        if math.isfinite(used_bytes) and math.isfinite(total_bytes) and 0 < used_bytes <= total_bytes:
            yield DeviceMemory(kind, device, int(used_bytes), int(total_bytes))


def _text(url: str, *, deadline: float) -> str:
    """Only the lines about memory. A server that sends a byte now and then is left at the deadline."""
    parts = urlsplit(url)
    make = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = make(parts.netloc, timeout=max(0.01, deadline - time.monotonic()))
    try:
        connection.request("GET", parts.path or "/metrics", headers={"Accept": "text/plain"})
        # The answer keeps the socket where the server ends the connection itself.
        with connection.getresponse() as answer:
            if answer.status != http.client.OK:
                raise ValueError(f"it answered with {answer.status}")
            body = b"".join(_chunks(answer, deadline=deadline))
    finally:
        connection.close()
    lines = body.decode(errors="replace").splitlines()
    kept = [line for line in lines if line.startswith(_PREFIXES) and len(line) <= MOST_LINE_CHARS]
    return "\n".join([*kept[: 4 * MOST_DEVICES], ""])


def _chunks(answer: http.client.HTTPResponse, *, deadline: float) -> Iterator[bytes]:
    size = 0
    while chunk := answer.read1(65_536):
        size += len(chunk)
        if size > MOST_BYTES:
            raise ValueError(f"it is longer than {MOST_BYTES:,} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError("it was not told whole in time")
        yield chunk
