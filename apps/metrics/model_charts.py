"""Charts of what models do. Pure."""

from apps.metrics.chart import Chart, Lines, Page, Words
from apps.serving.signals import Signal

_EVERY = (Page.MODEL, Page.SERVER, Page.ROLLOUT)
_BOTH = (Page.MODEL, Page.SERVER)

MODEL_CHARTS = (
    Chart(
        key="requests",
        title="Requests",
        unit="requests/s",
        lines=(Lines(Signal.REQUEST_RATE),),
        pages=_EVERY,
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
                said=Words("the mean is shown", "the mean is shown"),
            ),
        ),
        pages=_EVERY,
        slo="slo_p99_ms",
        help="p50, p95 and p99 of the time in the server. Over several servers each is the worst server's: percentiles "
        "cannot be averaged. Servers without summary_latencies give the mean only.",
    ),
    Chart(
        key="errors",
        title="Errors by reason",
        unit="failures/s",
        lines=(Lines(Signal.FAILURE_RATE, hides_zeros=True),),
        pages=_EVERY,
        help="Requests per second that the server counted as failed, by its own reason. An answer that carries an "
        "error counts as a success in the server's counters; Conch's probes see those.",
    ),
    Chart(
        key="error_ratio",
        title="Error ratio",
        unit="%",
        lines=(Lines(Signal.ERROR_RATIO),),
        pages=_EVERY,
        scale=100.0,
        slo="slo_error_ratio",
        help="Failed requests as a share of all requests, per version.",
    ),
    Chart(
        key="queue_compute",
        title="Queue and compute",
        unit="ms",
        lines=(Lines(Signal.COMPUTE_TIME, name="compute"), Lines(Signal.QUEUE_TIME, name="queue")),
        pages=_EVERY,
        help="Mean time of a request in the queue, and in the model (input, inference and output together).",
    ),
    Chart(
        key="compute",
        title="Compute by stage",
        unit="ms",
        lines=(
            Lines(Signal.COMPUTE_INFER, name="infer"),
            Lines(Signal.COMPUTE_INPUT, name="input"),
            Lines(Signal.COMPUTE_OUTPUT, name="output"),
        ),
        pages=_BOTH,
        help="Mean time of a request in each stage: getting the inputs to the model, running it, fetching the outputs.",
    ),
    Chart(
        key="batch_size",
        title="Mean batch",
        unit="inferences per execution",
        lines=(Lines(Signal.BATCH_SIZE),),
        pages=_EVERY,
        help="Inferences per execution, whether the client sent a batch or the server made one.",
    ),
    Chart(
        key="batch_efficiency",
        title="Requests per execution",
        unit="requests per execution",
        lines=(Lines(Signal.BATCH_EFFICIENCY),),
        pages=_BOTH,
        help="How many requests one execution answers: above 1 only where the server itself batches requests. "
        "Requests answered from the cache are left out.",
    ),
    Chart(
        key="pending",
        title="Pending",
        unit="requests",
        lines=(Lines(Signal.PENDING),),
        pages=_EVERY,
        help="Requests waiting to be executed at the moment of a scrape, summed over the servers.",
    ),
    Chart(
        key="first_response",
        title="First response, p99",
        unit="ms",
        lines=(Lines(Signal.FIRST_RESPONSE, name="p99"),),
        pages=(Page.MODEL,),
        is_optional=True,
        help="p99 of the time to the first response of decoupled models, from histograms: over several servers it is "
        "that of all their requests together.",
    ),
    Chart(
        key="cache",
        title="Response cache",
        unit="%",
        lines=(Lines(Signal.CACHE_HIT_RATIO),),
        pages=_BOTH,
        scale=100.0,
        is_optional=True,
        idle="no cache lookups in this time",
        help="Lookups in the response cache that found an answer, as a share of all lookups.",
    ),
    Chart(
        key="cache_lookups",
        title="Cache lookups",
        unit="lookups/s",
        lines=(Lines(Signal.CACHE_HIT_RATE, name="hits"), Lines(Signal.CACHE_MISS_RATE, name="misses")),
        pages=_BOTH,
        is_optional=True,
        idle="no cache lookups in this time",
        help="Lookups in the response cache per second that found an answer, and that did not.",
    ),
    Chart(
        key="cache_time",
        title="Cache time",
        unit="ms",
        lines=(Lines(Signal.CACHE_HIT_TIME, name="hit"), Lines(Signal.CACHE_MISS_TIME, name="miss")),
        pages=_BOTH,
        is_optional=True,
        idle="no cache lookups in this time",
        help="Mean time of a lookup that found an answer, and of one that did not, with putting the answer in.",
    ),
    Chart(
        key="load_duration",
        title="Load duration",
        unit="s",
        lines=(Lines(Signal.LOAD_DURATION),),
        pages=_BOTH,
        is_optional=True,
        help="How long the last load of each version took, as the server tells it; over several servers the longest.",
    ),
)
