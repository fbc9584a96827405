"""How a rollout begins: all its rows and its audit event in one transaction, or none of them."""

from collections.abc import Collection, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.audit.services import record
from apps.common.actor import Actor
from apps.common.dispatch import wake
from apps.deployments import plan
from apps.deployments.errors import NoServers, PlacementChanged, RolloutActive, VersionNotReady
from apps.deployments.models import Overlay, Placement, Release, Rollout, Run
from apps.deployments.policy import Approval, Policy, wave_of
from apps.deployments.selectors.ensembles import ensembles_on, members_left, members_of
from apps.deployments.selectors.estimates import expected_run_s
from apps.deployments.selectors.policies import policy_row
from apps.deployments.selectors.rollouts import active_rollout
from apps.deployments.selectors.targets import hot_servers, is_proven_under
from apps.deployments.services.retired import retired_among
from apps.deployments.services.superseding import supersede
from apps.deployments.states import IN_WAVES, RolloutKind, RolloutState, RunState
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


def begin(
    actor: Actor,
    placement: Placement,
    kind: RolloutKind,
    servers: list[Server],
    *,
    to: Version | None,
    reason: str,
    confirm: Collection[str],
    left_out: Collection[str] = (),
    take_over: Rollout | None = None,
    overlay: Overlay | None = None,
    is_cold: bool = False,
    is_going_back: bool = False,
    release: Release | None = None,
) -> Rollout:
    """One rollout with a run per server. Promotions and reconfigurations go in waves, others start at once.

    It takes over from `take_over`; where a worker is still in a step of that, the run begins when the step is over.
    `overlay` is the one to go to; without it the placement's own stays. `is_cold`: no server is there at once.
    `is_going_back`: on all servers at once, unapproved, whatever the kind.
    `release` is what it is part of: its runs wait for those of the others before they go live.
    """
    if not servers:
        raise NoServers(f"{placement.environment} has no active server that is not cordoned")
    row = policy_row(placement.environment)
    policy = Policy.kept(row.document)
    hot = hot_servers(placement, to) if to and not is_cold else frozenset()
    is_at_once = kind not in IN_WAVES or is_going_back
    is_one_wave = is_at_once or release is not None
    waves = (len(servers),) if is_one_wave else policy.wave_sizes(len(servers))
    wanted = overlay or placement.overlay
    now = timezone.now()
    rollout = Rollout(
        placement=placement,
        kind=kind,
        state=RolloutState.RUNNING if is_at_once else _first_state(policy),
        from_version=placement.active,
        to_version=to,
        from_overlay=placement.overlay,
        to_overlay=wanted,
        release=release,
        plan={
            "hot": sorted(hot),
            "confirmed": sorted(confirm),
            "servers": [server.name for server in servers],
            "left_out": list(left_out),
            **_left_loaded(kind, placement),
            **({"at_once": True} if is_going_back else {}),
            **without_shadow(
                kind, to, wanted, policy, coming=release.items if release else {}, is_going_back=is_going_back
            ),
            "waves": list(waves),
            **_expected(kind, placement, to, is_hot=kind != RolloutKind.PROMOTE and len(hot) == len(servers)),
        },
        policy=row.document,
        policy_number=row.number,
        reason=reason,
        actor=actor.name,
        actor_kind=actor.kind,
        created_at=now,
        started_at=now if is_at_once else None,
    )
    try:
        with transaction.atomic():
            lock(take_over)
            _require_unchanged(placement)
            _require_ready(to)
            busy = _take_over(take_over, rollout, now)
            rollout.save()
            runs = Run.objects.bulk_create(_now(rollout, _runs(rollout, servers, hot, waves), busy))
            _refuse_retired(servers)
            if take_over is not None:
                Rollout.objects.filter(pk=take_over.pk).update(superseded_by=rollout)
            _record(actor, rollout)
            _wake(rollout, runs if is_at_once else [])
    except IntegrityError as error:
        moving = active_rollout(placement)
        if moving is None:
            raise
        raise rollout_active(moving) from error
    return rollout


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
    """The refusal that names what is moving, and by whom."""
    return RolloutActive(
        f"{moving} ({moving.kind} of {moving.placement}) by {moving.actor} is {moving.state}",
        rollout=moving.pk,
        actor=moving.actor,
    )


def _require_unchanged(seen: Placement) -> None:
    """PlacementChanged when a rollout has ended since `seen` was read; no other can end until we have begun."""
    now = Placement.objects.select_for_update().get(pk=seen.pk)
    decided_by = attrgetter("active_id", "standby_id", "held_at", "overlay_id")
    if decided_by(now) != decided_by(seen):
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


def _first_state(policy: Policy) -> RolloutState:
    return RolloutState.UNAPPROVED if policy.approval == Approval.ANOTHER else RolloutState.QUEUED


def _runs(rollout: Rollout, servers: list[Server], hot: Collection[str], waves: Sequence[int]) -> list[Run]:
    is_rollback = rollout.kind == RolloutKind.ROLLBACK
    coming = rollout.release.items if rollout.release else {}
    # An ensemble that comes with it looks after itself.
    staying = [one for one in ensembles_on(rollout.placement) if one.model not in coming]
    has_ensembles = bool(staying)
    return [
        Run(
            rollout=rollout,
            server=server,
            model=rollout.placement.model,
            position=position,
            wave=wave_of(waves, position),
            state=RunState.RUNNING if rollout.started_at else RunState.QUEUED,
            started_at=rollout.started_at,
            # A rollback goes only to what has passed its shadow before.
            recipe=plan.recipe(
                rollout.kind,
                is_hot=server.name in hot,
                has_passed_shadow=is_rollback,
                skips_shadow="no_shadow" in rollout.plan,
                has_ensembles=has_ensembles,
                is_together=rollout.release_id is not None,
            ),
        )
        for position, server in enumerate(servers)
    ]


def _left_loaded(kind: str, placement: Placement) -> dict[str, list[str]]:
    """{"stays_loaded": models} where an ensemble is unloaded: its members serve on by themselves."""
    members = members_left(placement) if kind == RolloutKind.UNLOAD else []
    return {"stays_loaded": members} if members else {}


def without_shadow(
    kind: str,
    to: Version | None,
    overlay: Overlay | None,
    policy: Policy,
    *,
    coming: Collection[str],
    is_going_back: bool = False,
) -> dict[str, str]:
    """{"no_shadow": why} where the version goes live without being tried aside; empty elsewhere."""
    if to is None or kind not in (RolloutKind.PROMOTE, RolloutKind.RECONFIGURE):
        return {}
    if coming and {member.model for member in members_of(to)} & set(coming):
        return {"no_shadow": "not tried aside: aside it would reach its old members; it goes live once they are ready"}
    if policy.shadow.when == "never":
        return {"no_shadow": "not tried aside: the policy says never, so clients are the first to meet it"}
    if (is_going_back or policy.shadow.when == "unproven") and is_proven_under(to, overlay):
        return {"no_shadow": "not tried aside: these bytes and this configuration have passed before"}
    return {}


def _expected(kind: str, placement: Placement, to: Version | None, *, is_hot: bool) -> dict[str, float]:
    """{"each_s": seconds} that a server will take, where such a change was seen before."""
    each_s = expected_run_s(kind, placement.model, to, is_hot=is_hot)
    return {} if each_s is None else {"each_s": each_s}


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
