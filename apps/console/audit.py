"""The audit: who did what, to which, when, why; filtered, and as a file."""

import csv
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils.dateparse import parse_date

from apps.access.verbs import LOOKING, VERBS
from apps.audit import selectors as audit
from apps.common.text import SHOWN_CHARS, printable
from apps.console.door import page
from apps.fleet import selectors as fleet

if TYPE_CHECKING:
    from apps.audit.models import Event

ROWS = 100
COLUMNS = (
    "at",
    "actor",
    "actor_kind",
    "door",
    "address",
    "verb",
    "subject_kind",
    "subject",
    "environment",
    "model",
    "reason",
    "detail",
)
# Events that no verb of a person stands for.
BY_ITSELF = (
    "abort_release",
    "approve_release",
    "ban_version",
    "begin_release",
    "capture_failed",
    "capture_golden",
    "choose_version",
    "discard_upload",
    "discard_version",
    "drift_began",
    "drift_ended",
    "ensemble_broken",
    "go_on_unjudged",
    "heal",
    "heal_more",
    "leave_out",
    "neighbours_hurt",
    "part_unwell",
    "part_well",
    "pause_release",
    "remove_version_bytes",
    "resume_release",
    "retire_standby",
    "roll_back_release",
    "rollout_failed",
    "rollout_rolled_back",
    "rollout_succeeded",
    "run_rerouted",
    "server_active",
    "server_back",
    "server_refused",
    "server_restarted",
    "server_unreachable",
    "uncordon_server",
    "version_choosing",
    "version_fetched",
    "version_ready",
    "version_rejected",
)
FILTERS = ("actor", "verb", "subject", "environment", "model", "text")


def events(request: HttpRequest) -> HttpResponse:
    """Events that match, newest first."""
    rows = Paginator(_found(request), ROWS).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    return page(
        request,
        "audit/event_list.html",
        section="audit",
        rows=rows,
        asked=request.GET,
        verbs=verbs_to_choose(request.GET.get("verb", "")),
        environments=[one.name for one in fleet.environments()],
        query=query.urlencode(),
    )


def verbs_to_choose(asked: str = "") -> list[str]:
    """What can be chosen: what people do, what Conch does by itself, and whatever the address asks for."""
    return sorted({*VERBS, *BY_ITSELF, *filter(None, [asked.strip()])} - LOOKING)


def export(request: HttpRequest) -> StreamingHttpResponse:
    """The same events as CSV, streamed."""
    answer = StreamingHttpResponse(_lines(_found(request)), content_type="text/csv; charset=utf-8")
    answer.headers["Content-Disposition"] = 'attachment; filename="conch-audit.csv"'
    return answer


def _found(request: HttpRequest) -> "QuerySet[Event]":
    wanted = {name: printable(request.GET.get(name, "").strip(), limit=SHOWN_CHARS) for name in FILTERS}
    since, until = (_day(request.GET.get(name, "")) for name in ("since", "until"))
    return audit.events(**wanted, since=since, until=_end_of(until) if until else None)


def _day(text: str) -> datetime | None:
    """The beginning of a day in UTC; None for what is no date."""
    try:
        day = parse_date(text)
    except ValueError:
        return None
    return datetime.combine(day, time(), tzinfo=UTC) if day else None


def _end_of(day: datetime) -> datetime | None:
    """When the next one begins; None after the last there is."""
    try:
        return day + timedelta(days=1)
    except OverflowError:
        return None


class _Line:
    """What csv writes into: gives each line back."""

    def write(self, line: str) -> str:
        return line


def _lines(found: "QuerySet[Event]") -> Iterator[str]:
    writer = csv.writer(_Line())
    yield writer.writerow(COLUMNS)
    for event in found.iterator(chunk_size=500):
        yield writer.writerow([_cell(getattr(event, name)) for name in COLUMNS])


def _cell(value: object) -> str:
    """A cell that no spreadsheet takes for a formula."""
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    return f"'{text}" if text[:1] in "=+-@\t\r" and text else text
