"""Which GPUs and MIG slices a server uses, as its labels say. Pure.

`gpu`: cards, `mig`: slices, several with commas. A card is its UUID (GPU-...) or host/number; a slice is
card/instance, the instance being dcgm-exporter's GPU_I_ID: `GPU-1f0c6a52-.../9`, `gpu-node-a/0/9`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from apps.serving.signals import Device

GPU_LABEL, MIG_LABEL = "gpu", "mig"
_UUID = "GPU-"


@dataclass(frozen=True, slots=True)
class Devices:
    """What the labels say; `unread` are entries that name no device, each with what would be right."""

    known: tuple[Device, ...] = ()
    unread: tuple[str, ...] = ()


def devices_of(labels: Mapping[str, str]) -> Devices:
    """The devices in a server's labels."""
    known: list[Device] = []
    unread: list[str] = []
    for label, read, right in ((GPU_LABEL, _card, "GPU-<uuid> or host/number"), (MIG_LABEL, _slice, "card/instance")):
        for entry in filter(None, (part.strip() for part in str(labels.get(label, "")).split(","))):
            device = read(entry)
            if device is None:
                unread.append(f"label {label}: {entry[:80]!r} is not {right}")
            else:
                known.append(device)
    return Devices(tuple(dict.fromkeys(known)), tuple(unread))


def _card(entry: str) -> Device | None:
    if entry.startswith(_UUID) and "/" not in entry:
        return Device(uuid=entry)
    host, _, gpu = entry.rpartition("/")
    return Device(host=host, gpu=gpu) if host and gpu.isdecimal() else None


def _slice(entry: str) -> Device | None:
    card, _, instance = entry.rpartition("/")
    found = _card(card)
    if found is None or not instance.isdecimal():
        return None
    return Device(uuid=found.uuid, host=found.host, gpu=found.gpu, instance=instance)
