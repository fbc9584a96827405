"""What charts are asked about, and which part of Prometheus that selects."""

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from apps.fleet import selectors as fleet
from apps.metrics.answers import answers
from apps.metrics.chart import Chart
from apps.metrics.devices import devices_of
from apps.metrics.errors import PrometheusFailed
from apps.metrics.sources import queries
from apps.metrics.windows import USUAL_S, Window, latest, rate_window_s, window_for
from apps.serving.signals import Device, Query, Selection, Signal

NOWHERE = Device(uuid="none")


@dataclass(frozen=True, slots=True)
class Question:
    """What charts are about; an empty field means all. Without `until` they end now."""

    environment: str = ""
    server: str = ""
    model: str = ""
    versions: tuple[str, ...] = ()
    range_s: int = USUAL_S
    until: datetime | None = None
    is_per_server: bool = False


def scrape_interval_s() -> int:
    """How often Prometheus scrapes, as the settings say."""
    interval_s: int = settings.CONCH["scrape_interval_s"]
    return interval_s


def window_of(question: Question, *, now: datetime) -> Window:
    """The points in time it is about; BadRange."""
    return window_for(question.range_s, now=question.until or now, scrape_interval_s=scrape_interval_s())


def selection_of(question: Question, window: Window, *, devices: tuple[Device, ...] = ()) -> Selection:
    """The series it is about."""
    return Selection(
        environment=question.environment,
        server=question.server,
        model=question.model,
        versions=question.versions,
        window_s=rate_window_s(window, scrape_interval_s=scrape_interval_s()),
        is_per_server=question.is_per_server,
        devices=devices,
    )


def selections(charts: list[Chart], question: Question, window: Window) -> list[Selection]:
    """One for each chart: those about devices select a server's devices, and need to know them first."""
    plain = selection_of(question, window)
    if not question.server or not any(chart.is_of_devices for chart in charts):
        return [plain for _ in charts]
    own = selection_of(question, window, devices=server_devices(question.server, window))
    return [own if chart.is_of_devices else plain for chart in charts]


def server_devices(name: str, window: Window) -> tuple[Device, ...]:
    """The GPUs and slices a server's labels name, or else the GPUs it tells Prometheus of; one that is nowhere if none.

    Never empty: no device selected would mean every device there is. ServerUnknown.
    """
    labelled = devices_of(fleet.get_server(name).labels).known
    return labelled or discovered(name, window) or (NOWHERE,)


def discovered(name: str, window: Window) -> tuple[Device, ...]:
    """The GPUs that a server itself reports; none while Prometheus does not answer."""
    asked = Selection(server=name, window_s=rate_window_s(window, scrape_interval_s=scrape_interval_s()))
    found: list[str] = []
    for query in queries(Signal.GPU_MEMORY_TOTAL, asked):
        if isinstance(query, Query):
            try:
                reply = answers().over(query.promql, latest(window))
            except PrometheusFailed:
                return ()
            found += [one.labels.get("gpu_uuid", "") for one in reply.series]
    return tuple(Device(uuid=uuid) for uuid in sorted(set(found)) if uuid)
