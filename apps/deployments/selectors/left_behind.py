"""Servers on which something that went back left what it went away from: they were down, or did not follow."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, F, OuterRef, QuerySet, Subquery

from apps.common.actor import CLOCK
from apps.deployments.models import Ban, Placement, PlacementChange, Rollout, Run
from apps.deployments.selectors.bans import are_same
from apps.deployments.selectors.rollouts import MOVES_NOTHING
from apps.deployments.states import RolloutKind, RolloutState, RunDirection, RunState
from apps.fleet.models import ObservedVersion, Server
from apps.registry.models import Version

# Environment, model and version, as servers are seen with them.
Key = tuple[int, str, int]

_STANDS_ON = ("placement__environment", "placement__model", "placement__active", "placement__overlay")


@dataclass(frozen=True, slots=True)
class _Sought:
    """A version that must not serve in a placement where nothing has moved since; on `servers` alone, or on any."""

    placement: Placement
    quiet_since: datetime
    servers: frozenset[str] | None = None


def left_behind() -> list[tuple[Placement, Server]]:
    """Servers last seen with a version ready that is banned there, or that what went back did not take from them.

    Each with its placement; a few queries, whatever the fleet's size. Not while something moves there, and not on the
    word of a look that is older than the last change.
    """
    wanted: Mapping[Key, _Sought] = {**dict(_turned_round()), **dict(_rolled_back()), **dict(_banned())}
    if not wanted:
        return []
    seen = ObservedVersion.objects.filter(
        state="READY", model__in={key[1] for key in wanted}, version__in={key[2] for key in wanted}
    ).filter(server__state="active", server__observation__is_reachable=True)
    found = {}
    for row in seen.select_related("server__observation", "server__environment"):
        sought = wanted.get((row.server.environment_id, row.model, row.version))
        seen_at = row.server.observation.seen_at
        is_meant = sought is not None and (sought.servers is None or row.server.name in sought.servers)
        if sought is not None and is_meant and seen_at is not None and seen_at > sought.quiet_since:
            found[sought.placement.pk, row.server_id] = (sought.placement, row.server)
    return list(found.values())


def _banned() -> Iterator[tuple[Key, _Sought]]:
    in_force = Ban.objects.filter(lifted_at=None, placement__active__isnull=False)
    in_force = in_force.exclude(version=F("placement__active")).select_related(*_STANDS_ON, "version")
    quiet = [ban for ban in _with_quiet(in_force) if ban.quiet_since is not None]
    for ban, number in _alike(quiet):
        yield _key(ban.placement, number), _Sought(ban.placement, ban.quiet_since)
    for ban in quiet:
        yield _key(ban.placement, ban.version.number), _Sought(ban.placement, ban.quiet_since)


def _alike(bans: list[Any]) -> Iterator[tuple[Any, int]]:
    """The numbers under which servers have the same bytes and configuration ready; what is desired is not compared."""
    if not bans:
        return
    ready = ObservedVersion.objects.filter(state="READY", model=OuterRef("model__name"), version=OuterRef("number"))
    seen = Version.objects.filter(Exists(ready), model__in={ban.placement.model_id for ban in bans})
    desired = {pk for ban in bans for pk in (ban.placement.active_id, ban.placement.standby_id, ban.version_id)}
    strange = [pk for pk in seen.values_list("pk", flat=True) if pk not in desired]
    if not strange:
        return
    whole = Version.objects.filter(pk__in={ban.version_id for ban in bans}).select_related("artifact").in_bulk()
    for version in Version.objects.filter(pk__in=strange).select_related("artifact"):
        for ban in bans:
            if version.model_id == ban.placement.model_id and are_same(whole[ban.version_id], version):
                yield ban, version.number


def _rolled_back() -> Iterator[tuple[Key, _Sought]]:
    """What the last rollback of each placement went away from, on the servers that did not follow."""
    newest = PlacementChange.objects.filter(placement=OuterRef("placement"), what="done").order_by("-pk")
    newest = newest.exclude(rollout__kind__in=MOVES_NOTHING)
    last = Rollout.objects.filter(kind=RolloutKind.ROLLBACK, to_version=F("placement__active"))
    last = last.annotate(newest=Subquery(newest.values("rollout")[:1])).filter(pk=F("newest"))
    rollouts = list(_with_quiet(last.select_related(*_STANDS_ON)))
    failed, gone_from = _not_followed(rollouts), _gone_from(rollouts)
    for rollout in rollouts:
        servers = failed.get(rollout.pk, frozenset()) | set(rollout.plan.get("left_out", ()))
        if servers and rollout.quiet_since is not None:
            sought = _Sought(rollout.placement, rollout.quiet_since, servers)
            yield from ((_key(rollout.placement, number), sought) for number in gone_from[rollout.pk])


def _turned_round() -> Iterator[tuple[Key, _Sought]]:
    """What promotions that turned round had brought, on the servers that they did not put back."""
    names, found = _not_put_back(), dict[Key, _Sought]()
    turned = Rollout.objects.filter(pk__in=names).select_related(*_STANDS_ON, "to_version")
    for rollout in _with_quiet(turned) if names else ():
        if rollout.quiet_since is not None:
            key = _key(rollout.placement, rollout.to_version.number)
            before = found[key].servers if key in found else None
            found[key] = _Sought(rollout.placement, rollout.quiet_since, names[rollout.pk] | (before or frozenset()))
    yield from found.items()


def _not_put_back() -> Mapping[int, frozenset[str]]:
    """By rollout, the servers that are still to be put back.

    Until what it brought is desired after all, or somebody has changed the server since.
    """
    failed = Rollout.objects.filter(kind=RolloutKind.PROMOTE, state=RolloutState.FAILED)
    failed = failed.filter(placement__active__isnull=False)
    failed = failed.exclude(to_version=F("placement__active")).exclude(to_version=F("placement__standby"))
    later = Run.objects.filter(server=OuterRef("server"), model=OuterRef("model"), rollout__gt=OuterRef("rollout"))
    later = later.filter(direction=RunDirection.FORWARD, state=RunState.SUCCEEDED)
    changed = later.exclude(rollout__actor=CLOCK.name, rollout__actor_kind=CLOCK.kind)
    reverts = Run.objects.filter(~Exists(changed), rollout__in=failed, direction=RunDirection.REVERT)
    return _servers_by_rollout(reverts.exclude(state=RunState.SUCCEEDED))


def _with_quiet(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Each with since when nothing moves in its placement; None while something does."""
    changed = Rollout.objects.filter(placement=OuterRef("placement")).order_by(F("finished_at").desc(nulls_first=True))
    annotated: QuerySet[Any] = rows.annotate(quiet_since=Subquery(changed.values("finished_at")[:1]))
    return annotated


def _key(placement: Placement, number: int) -> Key:
    return placement.environment_id, placement.model.name, number


def _not_followed(rollouts: list[Rollout]) -> Mapping[int, frozenset[str]]:
    """By rollout, the servers that it did not bring there."""
    runs = Run.objects.filter(rollout__in=rollouts, direction=RunDirection.FORWARD)
    return _servers_by_rollout(runs.exclude(state=RunState.SUCCEEDED))


def _servers_by_rollout(runs: QuerySet[Run]) -> Mapping[int, frozenset[str]]:
    found: dict[int, frozenset[str]] = {}
    for rollout_id, server in runs.values_list("rollout", "server__name"):
        found[rollout_id] = found.get(rollout_id, frozenset()) | {server}
    return found


def _gone_from(rollouts: list[Rollout]) -> Mapping[int, set[int]]:
    """By rollout, the versions that it went away from: what was live, and what it took over from was bringing."""
    found: dict[int, set[int]] = {rollout.pk: set() for rollout in rollouts}
    gone_to = {rollout.pk: rollout.to_version_id for rollout in rollouts}
    was_live = Rollout.objects.filter(pk__in=found).values_list("pk", "from_version", "from_version__number")
    was_coming = Rollout.objects.filter(superseded_by__in=found)
    coming = was_coming.values_list("superseded_by", "to_version", "to_version__number")
    for rollout_id, version_id, number in (*was_live, *coming):
        if rollout_id is not None and number is not None and version_id != gone_to[rollout_id]:
            found[rollout_id].add(number)
    return found
