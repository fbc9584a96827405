"""Moments to mark in charts: where rollouts began and ended, servers restarted, and drift began and ended."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from apps.audit import selectors as audit
from apps.common.text import printable
from apps.deployments.models import Drift, Rollout
from apps.deployments.selectors.drift import kept_drift
from apps.deployments.selectors.rollouts import rollouts
from apps.deployments.states import RolloutKind, RolloutState

# Of each kind: more marks than this cover what they should explain.
MOST = 100
RESTARTED = "server_restarted"
_WHY_CHARS = 160


@dataclass(frozen=True, slots=True)
class Mark:
    """One moment; `kind` is one of apps.metrics.marks.SYMBOLS, `url` where to read more."""

    at: datetime
    kind: str
    label: str
    url: str


def marks(*, environment: str = "", model: str = "", server: str = "", since: datetime, until: datetime) -> list[Mark]:
    """Marks between two moments, in order of time; rollouts reach every server of their environment."""
    found = rollouts(environment=environment, model=model).filter(created_at__lte=until)
    found = found.exclude(kind=RolloutKind.RETIRE).exclude(finished_at__lt=since)[:MOST]
    every = [mark for rollout in found for mark in _of_rollout(rollout)]
    every += _restarts(environment, server, since=since, until=until)
    every += _drift(environment, model, server, since=since, until=until)
    return sorted((mark for mark in every if since <= mark.at <= until), key=lambda mark: mark.at)


def _of_rollout(rollout: Rollout) -> Iterator[Mark]:
    who = f"by {rollout.actor}" + (f": {printable(rollout.reason, limit=_WHY_CHARS)}" if rollout.reason else "")
    change = f"{rollout.placement.model} {_number(rollout.from_version)} > {_number(rollout.to_version)}"
    where, url = f"{change} in {rollout.placement.environment}", f"/rollouts/{rollout.pk}/"
    kind = "rollback" if rollout.kind == RolloutKind.ROLLBACK else "began"
    yield Mark(rollout.created_at, kind, f"{rollout.kind} {where}, {who}", url)
    if rollout.finished_at:
        why = rollout.error.get("message", "") if rollout.state != RolloutState.SUCCEEDED else ""
        label = f"{where}: {rollout.state.replace('_', ' ')}" + (f" ({why[:_WHY_CHARS]})" if why else "")
        yield Mark(rollout.finished_at, rollout.state, label, url)


def _restarts(environment: str, server: str, *, since: datetime, until: datetime) -> list[Mark]:
    """From the audit: the only place that remembers every one."""
    found = audit.events(verb=RESTARTED, subject=server, environment=environment, since=since, until=until)[:MOST]
    return [
        Mark(one.at, "restart", f"{one.subject} restarted: {one.reason}", f"/servers/{one.subject}/") for one in found
    ]


def _drift(environment: str, model: str, server: str, *, since: datetime, until: datetime) -> list[Mark]:
    """What concerns the model, or a server as a whole; a drift that is over has two marks."""
    found = kept_drift(environment=environment, server=server, ended=True).filter(since__lte=until)
    found = found.filter(Q(ended_at=None) | Q(ended_at__gte=since))
    if model:
        found = found.filter(model__in=[model, ""])
    return [mark for row in found[:MOST] for mark in _of_drift(row)]


def _of_drift(row: Drift) -> Iterator[Mark]:
    what = f"{row.model} {row.version} {row.kind}".strip() if row.model else row.kind
    where, url = f"{what.replace('_', ' ')} on {row.server}", f"/servers/{row.server}/"
    why = printable(row.reason, limit=_WHY_CHARS)
    yield Mark(row.since, "drift", f"drift: {where}" + (f" ({why})" if why else ""), url)
    if row.ended_at:
        yield Mark(row.ended_at, "in_line", f"no longer {where}", url)


def _number(version: object) -> str:
    return str(getattr(version, "number", "none"))
