"""Charts of the machines that models run on: CPU, memory, GPUs and their slices. Pure."""

from apps.metrics.chart import Chart, Lines, Page
from apps.serving.signals import Signal

GIB = 2**30
_BOTH = (Page.MODEL, Page.SERVER)
_OFF = "the servers' CPU and GPU metrics are off"

MACHINE_CHARTS = (
    Chart(
        key="use",
        title="GPU and CPU use",
        unit="%",
        lines=(Lines(Signal.GPU_UTILISATION), Lines(Signal.CPU_UTILISATION, name="CPU")),
        pages=_BOTH,
        scale=100.0,
        is_per_version=False,
        idle=_OFF,
        help="Use of each GPU, and of the machine's CPU as the server sees it. Where a GPU is divided (MIG), the "
        "server cannot tell: see the slices.",
    ),
    Chart(
        key="memory",
        title="GPU and CPU memory",
        unit="GiB",
        lines=(
            Lines(Signal.GPU_MEMORY),
            Lines(Signal.GPU_MEMORY_TOTAL, name="total", is_of_one_server=True),
            Lines(Signal.CPU_MEMORY, name="CPU"),
            Lines(Signal.CPU_MEMORY_TOTAL, name="CPU total", is_of_one_server=True),
        ),
        pages=_BOTH,
        scale=1 / GIB,
        is_per_version=False,
        idle=_OFF,
        help="Memory in use: of each GPU, and of the machine the server runs on. On one server also what there is.",
    ),
    Chart(
        key="pinned",
        title="Pinned memory",
        unit="GiB",
        lines=(Lines(Signal.PINNED_MEMORY, name="used"), Lines(Signal.PINNED_MEMORY_TOTAL, name="pool")),
        pages=(Page.SERVER,),
        scale=1 / GIB,
        is_per_version=False,
        is_optional=True,
        idle="the server tells nothing of pinned memory",
        help="The pool of pinned memory for transfers to the GPU, and how much of it is in use.",
    ),
    Chart(
        key="power",
        title="GPU power",
        unit="W",
        lines=(
            Lines(Signal.GPU_POWER),
            Lines(Signal.GPU_POWER_LIMIT, name="limit"),
            Lines(Signal.GPU_ENERGY, name="mean, from energy"),
        ),
        pages=(Page.SERVER,),
        is_per_version=False,
        is_optional=True,
        idle=_OFF,
        help="Power of each GPU at the moment of a scrape, its limit, and the mean since the scrapes before, from the "
        "energy counter.",
    ),
    Chart(
        key="slice_use",
        title="Use of GPUs and slices",
        unit="%",
        lines=(Lines(Signal.SLICE_UTILISATION),),
        pages=(Page.GPU, Page.SERVER),
        scale=100.0,
        is_per_version=False,
        is_optional=True,
        is_of_devices=True,
        idle="dcgm-exporter gives no use of these devices",
        help="Graphics engine use of each slice (MIG) or whole GPU, from dcgm-exporter; of whole GPUs without "
        "profiling metrics the utilisation.",
    ),
    Chart(
        key="slice_memory",
        title="Memory of GPUs and slices",
        unit="GiB",
        lines=(Lines(Signal.SLICE_MEMORY), Lines(Signal.SLICE_MEMORY_TOTAL, name="total", is_of_one_server=True)),
        pages=(Page.GPU, Page.SERVER),
        scale=1 / GIB,
        is_per_version=False,
        is_optional=True,
        is_of_devices=True,
        idle="dcgm-exporter gives no memory of these devices",
        help="Frame buffer in use of each slice or whole GPU, from dcgm-exporter; on a server's page also what there "
        "is: used and free together.",
    ),
    Chart(
        key="card_power",
        title="Power of cards",
        unit="W",
        lines=(Lines(Signal.CARD_POWER), Lines(Signal.CARD_ENERGY, name="mean, from energy")),
        pages=(Page.GPU, Page.SERVER),
        is_per_version=False,
        is_optional=True,
        is_of_devices=True,
        idle="dcgm-exporter gives no power of these cards",
        help="Power of each card, from dcgm-exporter. It repeats on every slice; here it counts once a card.",
    ),
)
