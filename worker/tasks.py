"""Messages in, one call each. Every task may be delivered twice, late, or never."""

import logging

from celery import Task, shared_task
from django.utils import timezone

from apps.deployments import services as deployments
from apps.deployments.errors import RunUnknown
from apps.fleet import services as fleet
from apps.registry import services as registry
from worker import captures, clock, engine, judging, memory, parts, trials

log = logging.getLogger(__name__)


@shared_task(name="conch.advance_run", bind=True, max_retries=3, default_retry_delay=2)
def advance_run(self: "Task[..., None]", *, run_id: int, **_: object) -> None:
    """Move a run on as far as it goes now; a row that is not there is looked for a few times more."""
    try:
        engine.advance_run(run_id)
    except RunUnknown as error:
        if self.request.retries >= (self.max_retries or 0):
            log.warning("%s, after %d looks: nothing is done", error.message, self.request.retries + 1)
            return
        raise self.retry(exc=error) from error


@shared_task(name="conch.advance_rollout")
def advance_rollout(*, rollout_id: int, **_: object) -> None:
    """Start a rollout's next run, or end it."""
    deployments.advance_rollout(rollout_id, now=timezone.now())


@shared_task(name="conch.answer_trial")
def answer_trial(*, trial_id: int, **_: object) -> None:
    """Make a request that somebody asked for."""
    trials.answer_trial(trial_id)


@shared_task(name="conch.judge_rollout")
def judge_rollout(*, rollout_id: int, **_: object) -> None:
    """Judge those of a rollout's gates that are due."""
    judging.judge_rollout(rollout_id, now=timezone.now())


@shared_task(name="conch.measure_memory")
def measure_memory(*, reading_id: int, **_: object) -> None:
    """Keep what loads and unloads did to a server's memory."""
    memory.measure(reading_id, now=timezone.now())


@shared_task(name="conch.capture_golden")
def capture_golden(*, sample_id: int, **_: object) -> None:
    """Take a sample's expected outputs from the version that is live."""
    captures.capture_golden(sample_id)


@shared_task(name="conch.check_version")
def check_version(*, version_id: int, **_: object) -> None:
    """Unpack and check an uploaded version."""
    registry.check_version(version_id, now=timezone.now())


@shared_task(name="conch.fetch_version")
def fetch_version(*, version_id: int, **_: object) -> None:
    """Fetch a slice of the bytes of a version by reference."""
    registry.fetch_version(version_id, now=timezone.now())


@shared_task(name="conch.finish_upload")
def finish_upload(*, upload: str, **_: object) -> None:
    """Make the version of an upload that is complete."""
    registry.finish_upload(upload)


@shared_task(name="conch.introduce_server")
def introduce_server(*, server_id: int, **_: object) -> None:
    """Ask a new server who it is."""
    fleet.introduce(server_id, now=timezone.now())


@shared_task(name="conch.observe_fleet")
def observe_fleet(**_: object) -> None:
    """Send one task per shard of servers."""
    clock.observe_fleet(timezone.now())


@shared_task(name="conch.observe_servers")
def observe_servers(*, server_ids: list[int], **_: object) -> None:
    """Ask a shard of servers what they serve, and bring them to what they should."""
    clock.observe_servers(server_ids, timezone.now())


@shared_task(name="conch.sweep")
def sweep(**_: object) -> None:
    """Wake whatever is due and forgotten."""
    clock.sweep(timezone.now())


@shared_task(name="conch.warm_due")
def warm_due(**_: object) -> None:
    """Warm the placements whose schedule says so."""
    clock.warm_due(timezone.now())


@shared_task(name="conch.check_itself")
def check_itself(**_: object) -> None:
    """Look after Conch's own parts."""
    parts.check_itself(timezone.now())


@shared_task(name="conch.tidy")
def tidy(**_: object) -> None:
    """Remove what is no longer needed."""
    clock.tidy(timezone.now())
