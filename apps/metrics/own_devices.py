"""Which cards and slices a server uses: its labels say it, else its pod, its own metrics or its host tell something."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.fleet import selectors as fleet
from apps.metrics.answers import answers
from apps.metrics.chart import Chart
from apps.metrics.devices import device_of_uuid, devices_of, hosts_of, pod_of
from apps.metrics.errors import PrometheusFailed
from apps.metrics.prometheus import Series
from apps.metrics.questions import Question, scrape_interval_s, selection_of
from apps.metrics.sources import queries
from apps.metrics.windows import Window, latest, rate_window_s
from apps.serving import dcgm
from apps.serving.signals import Device, Query, Selection, Signal

if TYPE_CHECKING:
    from apps.fleet.models import Server

NOWHERE = Device(uuid="none")


@dataclass(frozen=True, slots=True)
class Own:
    """A server's devices; `is_said`: its labels name them. Else a divided card among them is not all its own."""

    devices: tuple[Device, ...]
    is_said: bool = False


def selections(charts: list[Chart], question: Question, window: Window) -> list[Selection]:
    """One for each chart: those about devices select a server's devices, and need to know them first."""
    plain = selection_of(question, window)
    if not question.server or not any(chart.is_of_devices for chart in charts):
        return [plain for _ in charts]
    own = selection_of(question, window, devices=server_devices(question.server, window))
    return [own if chart.is_of_devices else plain for chart in charts]


def server_devices(name: str, window: Window) -> tuple[Device, ...]:
    """The GPUs and slices that are a server's, or have its slice among theirs; one that is nowhere if none is known.

    Never empty: no device selected would mean every device there is. ServerUnknown.
    """
    return own_devices(fleet.get_server(name), window).devices or (NOWHERE,)


def own_devices(server: "Server", window: Window) -> Own:
    """What is known of it; nothing while Prometheus does not answer, unless the labels say it.

    A pod's slices are exact. Triton's own metrics tell the card, and of a divided one not which slice.
    """
    labelled = devices_of(server.labels).known
    if labelled:
        return Own(labelled, is_said=True)
    return Own(_of_pod(server, window) or _reported(server.name, window))


def cards_of_host(server: "Server", window: Window) -> tuple[Device, ...]:
    """The divided cards of the server's host: under MIG a Triton may report none, and still run on one of them."""
    hosts = hosts_of(server.metrics or server.grpc)
    if not hosts:
        return ()
    found = _ask(dcgm.divided_on(hosts, window_s=_window_s(window)), window)
    return tuple(dict.fromkeys(_at(one, instance="") for one in found))


def _of_pod(server: "Server", window: Window) -> tuple[Device, ...]:
    pod = pod_of(server.labels, server.grpc)
    if pod is None:
        return ()
    found = _ask(dcgm.in_pod(pod.name, namespace=pod.namespace, window_s=_window_s(window)), window)
    return tuple(dict.fromkeys(_at(one, instance=one.labels.get("GPU_I_ID", "")) for one in found))


def _at(one: Series, *, instance: str) -> Device:
    uuid = one.labels.get("UUID", "")
    if uuid:
        return Device(uuid=uuid, instance=instance)
    return Device(host=one.labels.get("host", ""), gpu=one.labels.get("gpu", ""), instance=instance)


def _reported(name: str, window: Window) -> tuple[Device, ...]:
    """The GPUs that a server itself tells of."""
    found: set[str] = set()
    for query in queries(Signal.GPU_MEMORY_TOTAL, Selection(server=name, window_s=_window_s(window))):
        if isinstance(query, Query):
            found |= {one.labels.get("gpu_uuid", "") for one in _ask(query.promql, window)}
    return tuple(device for uuid in sorted(found) if (device := device_of_uuid(uuid)))


def _ask(promql: str, window: Window) -> tuple[Series, ...]:
    try:
        return tuple(answers().over(promql, latest(window)).series)
    except PrometheusFailed:
        return ()


def _window_s(window: Window) -> int:
    return rate_window_s(window, scrape_interval_s=scrape_interval_s())
