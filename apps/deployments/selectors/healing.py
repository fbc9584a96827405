"""Heals of late, read: what is under way, and how often it was tried in vain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Max

from apps.common.actor import CLOCK
from apps.deployments.models import Run
from apps.deployments.selectors.policies import policy_in, with_policies
from apps.deployments.states import ACTIVE_RUN, RolloutKind, RunDirection, RunState
from apps.fleet.models import Environment, Server

# Tries older than this no longer count: the pause begins anew.
REMEMBERED = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class Tries:
    """Heals by server that are `under_way`; and by server and model how many ended `of_late`, and when the last did."""

    under_way: Mapping[int, int]
    of_late: Mapping[tuple[int, str], tuple[int, datetime]]


def tries(servers: Sequence[Server], *, now: datetime) -> Tries:
    """The heals of these servers."""
    heals = Run.objects.filter(
        server__in=servers, rollout__kind=RolloutKind.HEAL, direction=RunDirection.FORWARD
    ).order_by()
    active = heals.filter(state__in=ACTIVE_RUN).values_list("server").annotate(runs=Count("pk"))
    # Not those that gave way to somebody: they were not in vain.
    ended = heals.filter(finished_at__gte=now - REMEMBERED, state__in=(RunState.SUCCEEDED, RunState.FAILED))
    grouped = ended.values_list("server", "model__name").annotate(runs=Count("pk"), last=Max("finished_at"))
    return Tries(dict(active), {(server, model): (runs, last) for server, model, runs, last in grouped})


def followed(servers: Sequence[Server], *, now: datetime) -> Mapping[tuple[int, int], tuple[int, datetime]]:
    """By server and placement: how often it followed a rollback of late, and when that last ended."""
    ended = Run.objects.filter(
        server__in=servers,
        rollout__kind=RolloutKind.ROLLBACK,
        rollout__actor=CLOCK.name,
        rollout__actor_kind=CLOCK.kind,
        direction=RunDirection.FORWARD,
        finished_at__gte=now - REMEMBERED,
    ).order_by()
    grouped = ended.values_list("server", "rollout__placement").annotate(runs=Count("pk"), last=Max("finished_at"))
    return {(server, placement): (runs, last) for server, placement, runs, last in grouped}


def self_healing(servers: Sequence[Server]) -> frozenset[int]:
    """Those of the servers' environments whose policy heals by itself."""
    environments = Environment.objects.filter(pk__in={server.environment_id for server in servers})
    return frozenset(row.pk for row in with_policies(environments) if policy_in(row).self_heal)
