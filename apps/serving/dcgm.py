"""dcgm-exporter's metrics as PromQL: whole cards and MIG slices. Pure.

A slice's rows carry its card's UUID, so a slice is (host, gpu, GPU_I_ID); the host's label was `Hostname` before
dcgm-exporter 4.6 and is `hostname` since. Power and energy repeat per slice and are the card's: counted once.
DCGM_FI_DEV_GPU_UTIL is absent under MIG, or 0 whatever the slice does: never asked there.
"""

from collections.abc import Callable, Mapping, Sequence

from apps.serving.matching import exactly, one_of
from apps.serving.signals import Device, Query, Selection, Signal, Unsupported

MIB = 2**20
SLICE_BY = ("host", "gpu", "UUID", "GPU_I_ID", "GPU_I_PROFILE")
CARD_BY = ("host", "gpu", "UUID")
PICTURED = (
    "DCGM_FI_DEV_GPU_UTIL",
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    "DCGM_FI_DEV_FB_USED",
    "DCGM_FI_DEV_FB_FREE",
    "DCGM_FI_DEV_POWER_USAGE",
)
# At least one of these is told of every card and slice.
_TOLD = '__name__=~"DCGM_FI_DEV_FB_USED|DCGM_FI_PROF_GR_ENGINE_ACTIVE|DCGM_FI_DEV_POWER_USAGE"'
# One text for all: charts that lack the same say it once together.
_ABSENT = (
    "no series of dcgm-exporter for these devices: run it on their host and let the same Prometheus scrape it; "
    "say which devices a server uses with its labels `gpu` and `mig`. Where it runs: use on MIG needs "
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE, as DCGM_FI_DEV_GPU_UTIL is not available there; mean power needs "
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION. It may leave out DCGM_FI_DEV_FB_USED and DCGM_FI_DEV_FB_FREE on some MIG "
    "cards"
)


def query(signal: Signal, selection: Selection) -> Query | Unsupported:
    """PromQL for `signal` over the selection's devices, or all there are."""
    ask = _QUERIES.get(signal)
    if ask is None:
        return Unsupported("dcgm-exporter tells of devices only")
    by = CARD_BY if signal in (Signal.CARD_POWER, Signal.CARD_ENERGY) else SLICE_BY
    return Query(ask(selection), by, absent=_ABSENT)


def pictured(selection: Selection) -> str:
    """Everything a picture of the cards is made of, each series with its own name; the whole card of each slice."""
    names = f'__name__=~"{"|".join(PICTURED)}"'
    return _last("", selection, names, whole_cards=True)


def in_pod(name: str, *, namespace: str, window_s: int) -> str:
    """The cards and slices that a pod has, where the exporter tells pods; scraping may have renamed its labels."""
    own = [exactly({"pod": name, "namespace": namespace}), exactly({"pod_name": name, "pod_namespace": namespace})]
    renamed = exactly({"exported_pod": name, "exported_namespace": namespace})
    return _found([*own, renamed], window_s=window_s)


def divided_on(hosts: Sequence[str], *, window_s: int) -> str:
    """The slices of the cards on a host, by either spelling of its label."""
    some = [[*one_of(label, hosts), 'GPU_I_ID!=""'] for label in ("Hostname", "hostname")]
    return _found(some, window_s=window_s)


def _found(some: Sequence[list[str]], *, window_s: int) -> str:
    selectors = [f"{{{','.join([_TOLD, *matchers])}}}" for matchers in some]
    return _by(SLICE_BY, _scraped(selectors, over="last_over_time", window_s=window_s))


def _any(metric: str, selection: Selection, *matchers: str, whole_cards: bool = False) -> list[str]:
    """Selectors of a metric's series on the devices."""
    wanted = [one for device in selection.devices for one in _matchers(device, whole_cards=whole_cards)] or [[]]
    return list(dict.fromkeys(f"{metric}{{{','.join([*matchers, *some])}}}" for some in wanted))


def _matchers(device: Device, *, whole_cards: bool) -> list[list[str]]:
    instance = exactly({"GPU_I_ID": "" if whole_cards else device.instance})
    if device.uuid:
        return [[*exactly({"UUID": device.uuid}), *instance]]
    spellings = ("Hostname", "hostname")
    return [[*exactly({label: device.host, "gpu": device.gpu}), *instance] for label in spellings]


def _scraped(selectors: list[str], *, over: str, window_s: int) -> str:
    """The selected series over the window, only from exporters whose last scrape went well."""
    ranges = " or ".join(f"{over}({one}[{window_s}s])" for one in selectors)
    return f"({ranges}) and on (job, instance) (up == 1)"


def _by(labels: tuple[str, ...], series: str) -> str:
    """One line for each of the labels' values; whichever of the two host labels is there becomes `host`."""
    return f'max by ({", ".join(labels)}) (label_join({series}, "host", "", "Hostname", "hostname"))'


def _last(metric: str, selection: Selection, *matchers: str, whole_cards: bool = False) -> str:
    selectors = _any(metric, selection, *matchers, whole_cards=whole_cards)
    return _scraped(selectors, over="last_over_time", window_s=selection.window_s)


def _utilisation(selection: Selection) -> str:
    active = _by(SLICE_BY, _last("DCGM_FI_PROF_GR_ENGINE_ACTIVE", selection))
    whole = _by(SLICE_BY, _last("DCGM_FI_DEV_GPU_UTIL", selection, 'GPU_I_ID=""'))
    return f"{active} or {whole} / 100"


def _used(selection: Selection) -> str:
    return f"{_by(SLICE_BY, _last('DCGM_FI_DEV_FB_USED', selection))} * {MIB}"


def _total(selection: Selection) -> str:
    used, free = (_by(SLICE_BY, _last(f"DCGM_FI_DEV_FB_{kind}", selection)) for kind in ("USED", "FREE"))
    return f"({used} + {free}) * {MIB}"


def _power(selection: Selection) -> str:
    return _by(CARD_BY, _last("DCGM_FI_DEV_POWER_USAGE", selection, whole_cards=True))


def _energy(selection: Selection) -> str:
    """Millijoules since the driver was loaded, as watts."""
    selectors = _any("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", selection, whole_cards=True)
    return f"{_by(CARD_BY, _scraped(selectors, over='rate', window_s=selection.window_s))} / 1000"


_QUERIES: Mapping[Signal, Callable[[Selection], str]] = {
    Signal.SLICE_UTILISATION: _utilisation,
    Signal.SLICE_MEMORY: _used,
    Signal.SLICE_MEMORY_TOTAL: _total,
    Signal.CARD_POWER: _power,
    Signal.CARD_ENERGY: _energy,
}
