"""GPUs as pictures: each card with its slices, what is used of each, and what the exporter does not tell. Pure.

Rows of one slice are put together by (host, gpu, GPU_I_ID): under MIG they all carry the card's UUID. A profile's
name may be wrong (DCGM has called slices by another card's names), so memory is what the exporter counts.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from apps.common.text import printable, whole_number
from apps.metrics.prometheus import Series
from apps.serving.dcgm import MIB
from apps.serving.signals import Device

GIB = 2**30
PROFILE = re.compile(r"^(\d)g\.(\d+)gb")
# How far a profile's name may be from what was counted: some memory is the driver's.
NAME_TOLERANCE = 0.25
_NAME_CHARS = 80
_ACTIVE, _UTILISATION = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_UTIL"
_USED, _FREE, _POWER = "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_POWER_USAGE"


@dataclass(frozen=True, slots=True)
class Slice:
    """A MIG slice, or a whole GPU (`instance` is empty). What is None the exporter does not tell.

    `is_unclear`: the server uses its card, and nothing tells which of the slices.
    """

    instance: str
    profile: str
    use: float | None
    used_bytes: float | None
    total_bytes: float | None
    is_mine: bool
    remarks: tuple[str, ...] = ()
    is_unclear: bool = False

    @property
    def share(self) -> float | None:
        """How much of its memory is used, 0 to 1."""
        return self.used_bytes / self.total_bytes if self.used_bytes is not None and self.total_bytes else None

    @property
    def weight(self) -> float:
        """How wide it is drawn: by its memory, else by its name."""
        named = PROFILE.match(self.profile)
        return self.total_bytes / GIB if self.total_bytes else float(named[2]) if named else 1.0


@dataclass(frozen=True, slots=True)
class Card:
    """One GPU; its power counts once, however many slices tell it."""

    host: str
    gpu: str
    uuid: str
    name: str
    power_w: float | None
    slices: tuple[Slice, ...]

    @property
    def is_divided(self) -> bool:
        """Whether it is divided into slices (MIG)."""
        return any(one.instance for one in self.slices)

    @property
    def is_unclear(self) -> bool:
        """Whether the server uses a slice of it, and nothing tells which."""
        return any(one.is_unclear for one in self.slices)


@dataclass(slots=True)
class _Rows:
    """Everything told of one slice or whole GPU."""

    labels: Mapping[str, str]
    values: dict[str, float] = field(default_factory=dict)


def cards_of(series: Iterable[Series], *, mine: Sequence[Device] = (), is_said: bool = True) -> tuple[Card, ...]:
    """The cards, by host and number; `mine` are the devices of a server, all of them when there are none.

    `is_said`: somebody says so, else it was found out: then a card means one of its slices, whichever.
    """
    told: dict[tuple[str, str, str, str], _Rows] = {}
    for one in series:
        value = one.values[-1]
        if value is not None:
            rows = told.setdefault(_key(one.labels), _Rows(one.labels))
            rows.values[one.labels.get("__name__", "")] = value
    by_card: dict[tuple[str, str, str], list[_Rows]] = {}
    for (host, gpu, uuid, _), rows in sorted(told.items(), key=lambda item: _order(item[0])):
        by_card.setdefault((host, gpu, uuid), []).append(rows)
    return tuple(_card(key, rows, mine, is_said=is_said) for key, rows in by_card.items())


def _key(labels: Mapping[str, str]) -> tuple[str, str, str, str]:
    return _host(labels), labels.get("gpu", ""), labels.get("UUID", ""), labels.get("GPU_I_ID", "")


def _host(labels: Mapping[str, str]) -> str:
    return labels.get("Hostname", "") or labels.get("hostname", "")


def _order(key: tuple[str, str, str, str]) -> tuple[str, int, str, int]:
    host, gpu, uuid, instance = key
    slice_ = whole_number(instance)
    return host, whole_number(gpu) or 0, uuid, -1 if slice_ is None else slice_


def _card(key: tuple[str, str, str], rows: list[_Rows], mine: Sequence[Device], *, is_said: bool) -> Card:
    host, gpu, uuid = key
    # On a divided card the whole GPU's own rows tell of nothing that the slices do not.
    parts = [one for one in rows if one.labels.get("GPU_I_ID")] or rows
    powers = [one.values[_POWER] for one in rows if _POWER in one.values]
    return Card(
        host=host,
        gpu=gpu,
        uuid=uuid,
        name=printable(rows[0].labels.get("modelName", ""), limit=_NAME_CHARS),
        power_w=max(powers, default=None),
        slices=tuple(_slice(one, mine, is_guess=not is_said and len(parts) > 1) for one in parts),
    )


def _slice(rows: _Rows, mine: Sequence[Device], *, is_guess: bool) -> Slice:
    values, instance = rows.values, rows.labels.get("GPU_I_ID", "")
    used, free = values.get(_USED), values.get(_FREE)
    total = None if used is None or free is None else (used + free) * MIB
    profile = printable(rows.labels.get("GPU_I_PROFILE", ""), limit=_NAME_CHARS)
    use = values.get(_ACTIVE)
    if use is None and not instance and _UTILISATION in values:
        use = values[_UTILISATION] / 100
    naming = [device for device in mine if _is(device, rows.labels)]
    is_unclear = is_guess and bool(naming) and not any(device.instance for device in naming)
    return Slice(
        instance=instance,
        profile=profile,
        use=use,
        used_bytes=None if used is None else used * MIB,
        total_bytes=total,
        is_mine=not mine or (bool(naming) and not is_unclear),
        remarks=tuple(_remarks(profile, use=use, total=total, is_slice=bool(instance))),
        is_unclear=is_unclear,
    )


def _remarks(profile: str, *, use: float | None, total: float | None, is_slice: bool) -> Iterable[str]:
    if use is None:
        yield (
            "use is not available on MIG: let dcgm-exporter export DCGM_FI_PROF_GR_ENGINE_ACTIVE"
            if is_slice
            else "dcgm-exporter gives no use of it"
        )
    if total is None:
        yield "dcgm-exporter leaves out its memory (DCGM_FI_DEV_FB_USED and DCGM_FI_DEV_FB_FREE)"
    named = PROFILE.match(profile)
    if named and total and abs(total / GIB / float(named[2]) - 1) > NAME_TOLERANCE:
        yield f"called {profile}, but has {total / GIB:.1f} GiB: the name is wrong"


def _is(device: Device, labels: Mapping[str, str]) -> bool:
    is_card = device.uuid == labels.get("UUID", "") if device.uuid else _is_at(device, labels)
    return is_card and device.instance in ("", labels.get("GPU_I_ID", ""))


def _is_at(device: Device, labels: Mapping[str, str]) -> bool:
    return (device.host, device.gpu) == (_host(labels), labels.get("gpu", ""))
