"""The card of a simulated server: what is loaded takes its memory, and gives it back unless it leaks."""

from collections.abc import Iterator
from typing import Any

from tests.doubles.triton.models import Models

# What Triton and the driver take by themselves.
IDLE_BYTES = 512 * 2**20
# In a model's config.pbtxt: parameters { key: "simulated_gpu_bytes" value { string_value: "..." } }.
PARAMETER = "simulated_gpu_bytes"
UUID = "GPU-51ab7e00-0000-4000-8000-000000000001"


class GpuMemory:
    """One card of so many bytes; without any there is no card. What leaks stays until the process ends."""

    def __init__(self, total_bytes: int) -> None:
        self.total_bytes = total_bytes
        self.leaks = False
        self._highest = 0

    def exposition(self, models: Models) -> Iterator[str]:
        """The lines of /metrics; a leak shows from one look to the next."""
        if not self.total_bytes:
            return
        used = IDLE_BYTES + sum(_bytes(instance) for _, instance in models.ready())
        self._highest = max(self._highest, used) if self.leaks else used
        for name, value in (("used", self._highest), ("total", self.total_bytes)):
            yield f"# TYPE nv_gpu_memory_{name}_bytes gauge"
            yield f'nv_gpu_memory_{name}_bytes{{gpu_uuid="{UUID}"}} {min(value, self.total_bytes):.6f}'


def _bytes(instance: Any) -> int:
    kept = instance.config.parameters
    return int(kept[PARAMETER].string_value) if PARAMETER in kept else 0
