"""The charts there are: what each shows and from which signals. Pure; pages, API and docs read this list."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from apps.serving.signals import Signal

GIB = 2**30


class Page(StrEnum):
    """Where a chart can stand."""

    MODEL = "model"
    SERVER = "server"


@dataclass(frozen=True, slots=True)
class Words:
    """A remark about one server, and about several."""

    one: str
    several: str


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines one signal gives.

    `name` is added to each line's own labels. `absent` is said when servers are scraped and give no such series,
    `said` wherever these lines are drawn. `instead_of` names the signal whose absence makes these lines wanted.
    `hides_zeros`: of several reasons only those that occurred are drawn, or one line at zero.
    """

    signal: Signal
    name: str = ""
    absent: Words | None = None
    said: Words | None = None
    instead_of: Signal | None = None
    hides_zeros: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: its unit on the axis and what a signal's value is multiplied by to be in that unit.

    `slo` names the promise of the model that is drawn as a line.
    """

    key: str
    title: str
    unit: str
    lines: tuple[Lines, ...]
    pages: tuple[Page, ...]
    help: str
    idle: str = "no requests in this time"
    scale: float = 1.0
    slo: str = ""
    is_per_version: bool = True


_BOTH = (Page.MODEL, Page.SERVER)
_NO_GPU = Words(
    "no GPU metrics on this server: it runs without a GPU", "no GPU metrics on these servers: they run without a GPU"
)

_ALL = (
    Chart(
        key="requests",
        title="Requests",
        unit="requests/s",
        lines=(Lines(Signal.REQUEST_RATE),),
        pages=_BOTH,
        help="Requests answered or failed per second, summed over the servers, per version. "
        "Warm-ups before a version's first scrape do not count; those under a shadow name never do.",
    ),
    Chart(
        key="latency",
        title="Latency",
        unit="ms",
        lines=(
            Lines(Signal.LATENCY_QUANTILE, said=Words("", "percentiles of the worst server, not averaged")),
            Lines(
                Signal.LATENCY_MEAN,
                name="mean",
                instead_of=Signal.LATENCY_QUANTILE,
                said=Words(
                    "no percentiles: this server runs without summary_latencies; the mean is shown",
                    "no percentiles: these servers run without summary_latencies; the mean is shown",
                ),
            ),
        ),
        pages=_BOTH,
        slo="slo_p99_ms",
        help="p50, p95 and p99 of the time in the server. Over several servers each is the worst server's: percentiles "
        "cannot be averaged. Servers without summary_latencies give the mean only.",
    ),
    Chart(
        key="errors",
        title="Errors by reason",
        unit="failures/s",
        lines=(Lines(Signal.FAILURE_RATE, hides_zeros=True),),
        pages=_BOTH,
        help="Requests per second that the server counted as failed, by its own reason. An answer that carries an "
        "error counts as a success in the server's counters; Conch's probes see those.",
    ),
    Chart(
        key="error_ratio",
        title="Error ratio",
        unit="%",
        lines=(Lines(Signal.ERROR_RATIO),),
        pages=_BOTH,
        scale=100.0,
        slo="slo_error_ratio",
        help="Failed requests as a share of all requests, per version.",
    ),
    Chart(
        key="queue_compute",
        title="Queue and compute",
        unit="ms",
        lines=(Lines(Signal.COMPUTE_TIME, name="compute"), Lines(Signal.QUEUE_TIME, name="queue")),
        pages=_BOTH,
        help="Mean time of a request in the queue, and in the model (input, inference and output together).",
    ),
    Chart(
        key="batch_size",
        title="Mean batch",
        unit="inferences per execution",
        lines=(Lines(Signal.BATCH_SIZE),),
        pages=_BOTH,
        help="Inferences per execution: above 1 where the server batches requests.",
    ),
    Chart(
        key="pending",
        title="Pending",
        unit="requests",
        lines=(Lines(Signal.PENDING),),
        pages=_BOTH,
        help="Requests waiting to be executed at the moment of a scrape, summed over the servers.",
    ),
    Chart(
        key="use",
        title="GPU and CPU use",
        unit="%",
        lines=(
            Lines(Signal.GPU_UTILISATION, absent=_NO_GPU),
            Lines(Signal.CPU_UTILISATION, name="CPU"),
        ),
        pages=_BOTH,
        scale=100.0,
        is_per_version=False,
        idle="the servers' CPU and GPU metrics are off",
        help="Use of each GPU, and of the machine's CPU as the server sees it. Where a GPU is divided (MIG), the "
        "server cannot tell.",
    ),
    Chart(
        key="memory",
        title="GPU and CPU memory",
        unit="GiB",
        lines=(
            Lines(Signal.GPU_MEMORY, absent=_NO_GPU),
            Lines(Signal.CPU_MEMORY, name="CPU"),
        ),
        pages=_BOTH,
        scale=1 / GIB,
        is_per_version=False,
        idle="the servers' CPU and GPU metrics are off",
        help="Memory in use: of each GPU, and of the machine the server runs on.",
    ),
)

CHARTS: Mapping[str, Chart] = {chart.key: chart for chart in _ALL}


def charts_on(page: Page) -> Iterable[Chart]:
    """The charts of a page, in the order they are shown."""
    return (chart for chart in CHARTS.values() if page in chart.pages)
