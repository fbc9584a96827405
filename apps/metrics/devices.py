"""Which GPUs and MIG slices a server uses, as its labels say; and what its address tells of where it runs. Pure.

`gpu`: cards, `mig`: slices, several with commas. A card is its UUID (GPU-...) or host/number; a slice is
card/instance, the instance being dcgm-exporter's GPU_I_ID: `GPU-1f0c6a52-.../9`, `gpu-node-a/0/9`, or as drivers
before 470 name it, `MIG-GPU-1f0c6a52-.../9/0`.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass

from apps.serving.signals import Device

GPU_LABEL, MIG_LABEL, POD_LABEL = "gpu", "mig", "pod"
_UUID, _OLD_SLICE, _NEW_SLICE = "GPU-", "MIG-GPU-", "MIG-"
# <pod>.<service>.<namespace>.svc, as a pod of a StatefulSet is found in Kubernetes.
_SVC_AT = 3


@dataclass(frozen=True, slots=True)
class Pod:
    """Where Kubernetes runs a server; dcgm-exporter can name the pod that has a card or a slice."""

    name: str
    namespace: str = ""


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


def device_of_uuid(uuid: str) -> Device | None:
    """The device that a server calls so; None where the name tells neither card nor instance (MIG-<uuid>)."""
    if uuid.startswith(_OLD_SLICE):
        return _slice(uuid)
    return None if not uuid or uuid.startswith(_NEW_SLICE) else Device(uuid=uuid)


def pod_of(labels: Mapping[str, str], address: str) -> Pod | None:
    """The server's pod: its label `pod` (namespace/pod, or pod), else as its address names it."""
    if told := str(labels.get(POD_LABEL, "")).strip():
        namespace, _, name = told.rpartition("/")
        return Pod(name, namespace)
    parts = _host(address).split(".")
    return Pod(parts[0], parts[_SVC_AT - 1]) if len(parts) > _SVC_AT and parts[_SVC_AT] == "svc" else None


def hosts_of(address: str) -> tuple[str, ...]:
    """What dcgm-exporter may call the server's host: its name, long and short; nothing where it is a number."""
    host = _host(address)
    if not host or host == "localhost" or _is_number(host):
        return ()
    return tuple(dict.fromkeys((host, host.partition(".")[0])))


def _host(address: str) -> str:
    return address.rpartition("://")[2].rpartition(":")[0]


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _card(entry: str) -> Device | None:
    if entry.startswith(_UUID) and "/" not in entry:
        return Device(uuid=entry)
    host, _, gpu = entry.rpartition("/")
    return Device(host=host, gpu=gpu) if host and gpu.isdecimal() else None


def _slice(entry: str) -> Device | None:
    if entry.startswith(_OLD_SLICE):
        # Card, GPU instance, compute instance: the middle one is the exporter's.
        entry = entry.removeprefix(_NEW_SLICE).rpartition("/")[0]
    card, _, instance = entry.rpartition("/")
    found = _card(card)
    if found is None or not instance.isdecimal():
        return None
    return Device(uuid=found.uuid, host=found.host, gpu=found.gpu, instance=instance)
