"""Hold the live version against the golden samples again, on its own /versions/n."""

from functools import partial

from apps.common.text import SHOWN_CHARS, printable
from apps.deployments import services
from apps.deployments.errors import GoldenMismatch, WarmupFailed
from worker.context import Context
from worker.outcomes import Done, Outcome, Wait
from worker.steps._again import have_loaded
from worker.steps._requests import try_out


def run(context: Context) -> Outcome:
    """A few quick requests, then the golden answers; kept as one probe, with the slowest request or what was wrong."""
    work, number = context.work, context.new.number
    waiting = have_loaded(context)
    if waiting is not None:
        return waiting
    keep = partial(
        services.record_probe, work.rollout.placement, work.server, version=number, kind="verify", at=context.now
    )
    try:
        tried = try_out(context, work.model, number)
    except (WarmupFailed, GoldenMismatch) as error:
        keep(message=printable(error.message, limit=SHOWN_CHARS))
        raise
    if isinstance(tried, Wait):
        return tried
    warmth, golden = tried
    keep(latency_us=max(warmth.latencies_us, default=None))
    return Done({**golden, "latencies_us": warmth.latencies_us})
