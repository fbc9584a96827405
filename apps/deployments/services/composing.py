"""What a rollout is made of before anything of it is saved: its row with the plan, and a run for each server."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.utils import timezone

from apps.common.actor import Actor
from apps.deployments import plan
from apps.deployments.models import Overlay, Placement, Release, Rollout, Run
from apps.deployments.policy import Approval, Policy, wave_of
from apps.deployments.selectors.ensembles import ensembles_on, members_left, members_of
from apps.deployments.selectors.estimates import expected_run_s
from apps.deployments.selectors.policies import policy_row
from apps.deployments.selectors.targets import hot_servers, is_proven_under
from apps.deployments.states import IN_WAVES, RolloutKind, RolloutState, RunState
from apps.fleet.models import Server
from apps.registry.models import Version


@dataclass(frozen=True, slots=True)
class Wanted:
    """One change as it was asked for. `services.beginning.begin` says what each of these means."""

    placement: Placement
    kind: RolloutKind
    servers: Sequence[Server]
    to: Version | None
    reason: str
    confirm: Collection[str]
    left_out: Collection[str] = ()
    overlay: Overlay | None = None
    is_cold: bool = False
    is_going_back: bool = False
    release: Release | None = None

    @property
    def is_at_once(self) -> bool:
        """Whether it starts on all servers, unapproved."""
        return self.kind not in IN_WAVES or self.is_going_back

    @property
    def overlay_to(self) -> Overlay | None:
        """The one that it goes to: where nothing is asked, the one that is there."""
        return self.overlay or self.placement.overlay


def new_rollout(actor: Actor, wanted: Wanted) -> Rollout:
    """Its row, with the plan and the policy of now."""
    placement, now = wanted.placement, timezone.now()
    row = policy_row(placement.environment)
    policy = Policy.kept(row.document)
    return Rollout(
        placement=placement,
        kind=wanted.kind,
        state=RolloutState.RUNNING if wanted.is_at_once else _first_state(policy),
        from_version=placement.active,
        to_version=wanted.to,
        from_overlay=placement.overlay,
        to_overlay=wanted.overlay_to,
        release=wanted.release,
        plan=_plan(wanted, policy),
        policy=row.document,
        policy_number=row.number,
        reason=wanted.reason,
        actor=actor.name,
        actor_kind=actor.kind,
        created_at=now,
        started_at=now if wanted.is_at_once else None,
    )


def new_runs(rollout: Rollout, servers: Sequence[Server]) -> list[Run]:
    """One for each server, in the order of the plan."""
    coming = rollout.release.items if rollout.release else {}
    # An ensemble that comes with it looks after itself.
    has_ensembles = any(one.model not in coming for one in ensembles_on(rollout.placement))
    hot = frozenset(rollout.plan["hot"])
    return [
        _run(rollout, server, position, is_hot=server.name in hot, has_ensembles=has_ensembles)
        for position, server in enumerate(servers)
    ]


def _run(rollout: Rollout, server: Server, position: int, *, is_hot: bool, has_ensembles: bool) -> Run:
    return Run(
        rollout=rollout,
        server=server,
        model=rollout.placement.model,
        position=position,
        wave=wave_of(rollout.plan["waves"], position),
        state=RunState.RUNNING if rollout.started_at else RunState.QUEUED,
        started_at=rollout.started_at,
        recipe=plan.recipe(
            rollout.kind,
            is_hot=is_hot,
            # A rollback goes only to what has passed its shadow before.
            has_passed_shadow=rollout.kind == RolloutKind.ROLLBACK,
            skips_shadow="no_shadow" in rollout.plan,
            has_ensembles=has_ensembles,
            is_together=rollout.release_id is not None,
        ),
    )


def _plan(wanted: Wanted, policy: Policy) -> dict[str, object]:
    hot = hot_servers(wanted.placement, wanted.to) if wanted.to and not wanted.is_cold else frozenset()
    size = len(wanted.servers)
    is_one_wave = wanted.is_at_once or wanted.release is not None
    return {
        "hot": sorted(hot),
        "confirmed": sorted(wanted.confirm),
        "servers": [server.name for server in wanted.servers],
        "left_out": list(wanted.left_out),
        **_left_loaded(wanted.kind, wanted.placement),
        **({"at_once": True} if wanted.is_going_back else {}),
        **without_shadow(
            wanted.kind,
            wanted.to,
            wanted.overlay_to,
            policy,
            coming=wanted.release.items if wanted.release else {},
            is_going_back=wanted.is_going_back,
        ),
        "waves": [size] if is_one_wave else list(policy.wave_sizes(size)),
        **_expected(wanted, is_hot=wanted.kind != RolloutKind.PROMOTE and len(hot) == size),
    }


def _expected(wanted: Wanted, *, is_hot: bool) -> dict[str, float]:
    """{"each_s": seconds} that a server will take, where such a change was seen before."""
    each_s = expected_run_s(wanted.kind, wanted.placement.model, wanted.to, is_hot=is_hot)
    return {} if each_s is None else {"each_s": each_s}


def _first_state(policy: Policy) -> RolloutState:
    return RolloutState.UNAPPROVED if policy.approval == Approval.ANOTHER else RolloutState.QUEUED


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
