"""What was live of a model at a moment, what differs from now, and the way to put it back."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_datetime

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
    """The stop and the moment; the last stop is now, and what cannot be read is not asked for."""
    given = parse_datetime(request.GET.get("at", "") or "-") if _is_moment(request.GET.get("at", "")) else None
    if given is not None:
        at = given if given.tzinfo else given.replace(tzinfo=UTC)
        return max(sum(moment <= at for moment in moments) - 1, 0), at
    asked = request.GET.get("stop", "")
    if not asked.isdecimal() or int(asked) > len(moments):
        return len(moments), None
    return int(asked), (timezone.now() if int(asked) == len(moments) else moments[int(asked)])


def _is_moment(text: str) -> bool:
    """A well-formed moment that is none, such as February 30, counts as not asked for."""
    try:
        return parse_datetime(text) is not None
    except ValueError:
        return False
