"""What charts are asked about, and which part of Prometheus that selects."""

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from apps.metrics.windows import USUAL_S, Window, rate_window_s, window_for
from apps.serving.signals import Device, Selection


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
