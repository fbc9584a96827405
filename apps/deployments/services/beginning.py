"""How a rollout begins: all its rows and its audit event in one transaction, or none of them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, NotRequired, TypedDict, Unpack

from django.db import IntegrityError, transaction

from apps.audit.services import record
from apps.common.actor import Actor
from apps.common.dispatch import wake
from apps.deployments.errors import NoServers, PlacementChanged, RolloutActive, VersionNotReady
from apps.deployments.models import Overlay, Placement, Release, Rollout, Run
from apps.deployments.selectors.rollouts import active_rollout
from apps.deployments.services.composing import Wanted, new_rollout, new_runs
from apps.deployments.services.retired import retired_among
from apps.deployments.services.superseding import supersede
from apps.deployments.states import RolloutKind, RolloutState
from apps.fleet.models import Server
from apps.registry.models import Version
from apps.registry.states import VersionState

VERBS = {
    RolloutKind.PROMOTE: "promote",
    RolloutKind.ROLLBACK: "roll_back",
    RolloutKind.UNLOAD: "unload",
    RolloutKind.RETIRE: "retire_standby",
    RolloutKind.RECONFIGURE: "set_overlay",
    RolloutKind.HEAL: "heal",
}


WAITS: Mapping[str, str] = {
    RolloutState.UNAPPROVED: "It waits until somebody else approves it: have it approved, or abort it.",
    RolloutState.PAUSED: "It waits until somebody resumes it: read why, then resume, abort or roll it back.",
}


class Asked(TypedDict):
    """What is asked for beside the servers.

    `overlay` is the one to go to; without it the placement's own stays. `is_cold`: no server is there at once.
    `is_going_back`: on all servers at once, unapproved, whatever the kind.
    `release` is what it is part of: its runs wait for those of the others before they go live.
    """

    to: Version | None
    reason: str
    confirm: Collection[str]
    left_out: NotRequired[Collection[str]]
    overlay: NotRequired[Overlay | None]
    is_cold: NotRequired[bool]
    is_going_back: NotRequired[bool]
    release: NotRequired[Release | None]


def begin(
    actor: Actor,
    placement: Placement,
    kind: RolloutKind,
    servers: list[Server],
    *,
    take_over: Rollout | None = None,
    **asked: Unpack[Asked],
) -> Rollout:
    """One rollout with a run per server. Promotions and reconfigurations go in waves, others start at once.

    It takes over from `take_over`; where a worker is still in a step of that, the run begins when the step is over.
    """
    if not servers:
        raise NoServers(f"{placement.environment} has no active server that is not cordoned")
    rollout = new_rollout(actor, Wanted(placement, kind, servers, **asked))
    try:
        with transaction.atomic():
            _save(actor, rollout, servers, take_over)
    except IntegrityError as error:
        moving = active_rollout(placement)
        if moving is None:
            raise
        raise rollout_active(moving) from error
    return rollout


def _save(actor: Actor, rollout: Rollout, servers: list[Server], take_over: Rollout | None) -> None:
    """All rows and the event, in the caller's transaction."""
    lock(take_over)
    _require_unchanged(rollout.placement, but_for=take_over)
    _require_ready(rollout.to_version)
    busy = _take_over(take_over, rollout, rollout.created_at)
    rollout.save()
    runs = Run.objects.bulk_create(_now(rollout, new_runs(rollout, servers), busy))
    _refuse_retired(servers)
    if take_over is not None:
        Rollout.objects.filter(pk=take_over.pk).update(superseded_by=rollout)
    _record(actor, rollout)
    _wake(rollout, runs if rollout.started_at else [])


def lock(moving: Rollout | None) -> None:
    """Hold what is moving, in the caller's transaction. Before the placement: whoever ends one takes them so."""
    if moving is not None:
        Rollout.objects.select_for_update().get(pk=moving.pk)


def _take_over(moving: Rollout | None, rollout: Rollout, now: datetime) -> set[int]:
    if moving is None:
        return set()
    return supersede(moving, why=f"a {rollout.kind} by {rollout.actor} took over: {rollout.reason}", now=now)


def _now(rollout: Rollout, runs: list[Run], busy: Collection[int]) -> list[Run]:
    """The runs that can begin at once; the plan keeps the recipes of the others."""
    late = {run.server.name: run.recipe for run in runs if run.server_id in busy}
    if late:
        rollout.plan["late"] = late
        Rollout.objects.filter(pk=rollout.pk).update(plan=rollout.plan)
    return [run for run in runs if run.server_id not in busy]


def rollout_active(moving: Rollout) -> RolloutActive:
    """The refusal that names what is moving, and by whom; what waits for somebody does not end by itself."""
    return RolloutActive(
        f"{moving} ({moving.kind} of {moving.placement}) by {moving.actor} is {moving.state}",
        hint=WAITS.get(moving.state, ""),
        rollout=moving.pk,
        actor=moving.actor,
    )


def _require_unchanged(seen: Placement, *, but_for: Rollout | None) -> None:
    """PlacementChanged when a rollout has ended since `seen` was read; no other can end until we have begun.

    RolloutActive when one has begun that let go of a hold, or holds: the refusal names it.
    """
    now = Placement.objects.select_for_update().get(pk=seen.pk)
    decided_by = attrgetter("active_id", "standby_id", "held_at", "overlay_id")
    if decided_by(now) != decided_by(seen):
        moving = active_rollout(seen)
        if moving is not None and moving != but_for:
            raise rollout_active(moving)
        raise PlacementChanged(f"{seen}: another rollout has ended just now", placement=str(seen))


def _require_ready(wanted: Version | None) -> None:
    """Under the version's lock, which archiving and retention take too: what begins here holds it from now on."""
    if wanted is None:
        return
    now = Version.objects.select_for_update().only("state").get(pk=wanted.pk)
    if now.state != VersionState.READY:
        raise VersionNotReady(f"{wanted} was put away just now: it is {now.state}", state=now.state)


def _refuse_retired(servers: Sequence[Server]) -> None:
    names = sorted(retired_among([server.pk for server in servers]).values())
    if names:
        raise PlacementChanged(f"{', '.join(names)} was retired just now", servers=names)


def _wake(rollout: Rollout, runs: list[Run]) -> None:
    """Wake the runs that start at once (one message per server), else the rollout itself."""
    for run in runs:
        wake("conch.advance_run", run_id=run.pk)
    if not runs or rollout.plan.get("late"):
        wake("conch.advance_rollout", rollout_id=rollout.pk)


def _record(actor: Actor, rollout: Rollout) -> None:
    placement = rollout.placement
    detail: dict[str, Any] = {"kind": rollout.kind, "from": None, "to": None, "plan": rollout.plan}
    if rollout.from_version:
        detail["from"] = rollout.from_version.number
    if rollout.to_version:
        detail["to"] = rollout.to_version.number
    if rollout.to_overlay:
        detail["overlay"] = rollout.to_overlay.number
    record(
        actor,
        VERBS[RolloutKind(rollout.kind)],
        subject_kind="rollout",
        subject=str(rollout.pk),
        environment=placement.environment.name,
        model=placement.model.name,
        reason=rollout.reason,
        **detail,
    )
