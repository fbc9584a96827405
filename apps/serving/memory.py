"""Memory as a server tells it: a card's, or the whole machine's. Frozen values."""

from dataclasses import dataclass
from enum import StrEnum


class MemoryKind(StrEnum):
    """Whose memory is told. The machine's is shared with everything else that runs there."""

    GPU = "gpu"
    MACHINE = "machine"


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """One card by its UUID, or the machine with an empty name."""

    kind: MemoryKind
    device: str
    used_bytes: int
    total_bytes: int

    @property
    def free_bytes(self) -> int:
        """What is left."""
        return max(0, self.total_bytes - self.used_bytes)
