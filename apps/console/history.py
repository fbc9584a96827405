"""What was live of a model at a moment, what differs from now, and the way to put it back."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from apps.common.text import whole_number
from apps.console.shown.history import Stop, Then, then_line
from apps.deployments import selectors as deployments

if TYPE_CHECKING:
    from apps.deployments.models import Placement, PlacementChange


def then(request: HttpRequest, model: str, placements: "list[Placement]") -> Then:
    """The moment that was asked for: `at`, or a `stop` of the slider; without one, only the slider."""
    moments = deployments.change_moments(model)
    stop, at = _asked(request, moments)
    if at is None:
        return Then(Stop(len(moments), len(moments)), None, ())
    by_environment = {placement.environment.name: placement for placement in placements}
    changes = [deployments.change_of(found) for found in deployments.placements_at(at, model=model)]
    lines = [then_line(change, numbers=_numbers(change, by_environment)) for change in changes]
    return Then(Stop(stop, len(moments)), at, tuple(lines))


def _numbers(change: "PlacementChange", placements: "dict[str, Placement]") -> set[int]:
    """The versions it can be rolled back to; asked only where another one is live now."""
    placement = placements.get(change.placement.environment.name)
    if placement is None or change.active is None or "active" not in change.differs_in:
        return set()
    return {target.version.number for target in deployments.rollback_targets(placement)}


def _asked(request: HttpRequest, moments: list[datetime]) -> tuple[int, datetime | None]:
    """The stop and the moment; the last stop is now, as is what is to come; what cannot be read is not asked for."""
    at = _moment(request.GET.get("at", ""))
    if at is not None:
        at = min(at, timezone.now())
        return max(sum(moment <= at for moment in moments) - 1, 0), at
    asked = whole_number(request.GET.get("stop", ""))
    if asked is None or asked > len(moments):
        return len(moments), None
    return asked, (timezone.now() if asked == len(moments) else moments[asked])


def _moment(text: str) -> datetime | None:
    """In UTC; None for what is no moment, such as February 30, or has none in UTC's calendar."""
    try:
        given = parse_datetime(text)
        return given and (given.astimezone(UTC) if given.tzinfo else given.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None
