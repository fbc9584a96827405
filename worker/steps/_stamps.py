"""Time stamps of version directories: while they stand still, naming a loaded version restarts nothing."""

from collections.abc import Iterable

from django.utils import timezone

from apps.deployments.selectors import Work
from apps.fleet import services as fleet
from worker.context import Context


def read(work: Work, versions: Iterable[int]) -> dict[str, int | None]:
    """What moves when a load would restart the version (ns), by version as text: it is kept as JSON."""
    return {str(number): work.home.stamp_ns(model=work.model, number=number) for number in versions}


def keep(context: Context, stamps: dict[str, int | None]) -> None:
    """Record them as the stamps these versions were loaded at."""
    fleet.record_load(
        context.work.server,
        model=context.work.model,
        stamps={int(number): stamp for number, stamp in stamps.items()},
        # After the load, not before: an observation that began meanwhile must not overwrite this.
        now=timezone.now(),
        under=context.new.under,
    )
