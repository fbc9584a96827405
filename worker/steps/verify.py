"""Hold the live version against the golden samples again, on its own /versions/n."""

from apps.deployments import services
from worker.context import Context
from worker.outcomes import Done, Outcome
from worker.steps._requests import check_golden, warm


def run(context: Context) -> Outcome:
    """A few quick requests, then the golden answers; each is kept as a probe."""
    work, number = context.work, context.new.number
    warmth = warm(context, work.model, number)
    golden = check_golden(context, work.model, number)
    slowest = max(warmth.latencies_us, default=None)
    services.record_probe(
        work.rollout.placement, work.server, version=number, kind="verify", at=context.now, latency_us=slowest
    )
    return Done({**golden, "latencies_us": warmth.latencies_us})
