"""What a promotion would do, server by server, and what stands in its way. Nothing is changed."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from django.utils import timezone

from apps.access.services import require
from apps.access.verbs import VIEW
from apps.common.actor import Actor
from apps.common.errors import ControlPlaneError
from apps.deployments import plan
from apps.deployments.memory import Fit
from apps.deployments.models import Placement
from apps.deployments.policy import Approval, Policy, wave_of
from apps.deployments.selectors.ensembles import ensembles_on
from apps.deployments.selectors.estimates import mean_run_s
from apps.deployments.selectors.memory import Room, rooms
from apps.deployments.selectors.placements import placements
from apps.deployments.selectors.policies import policy_row
from apps.deployments.selectors.targets import do_stand_beside, hot_servers
from apps.deployments.services.composing import without_shadow
from apps.deployments.services.conditions import ready_version, refuse_if_moving
from apps.deployments.services.obstacles import Check, promotion_checks, refusals
from apps.deployments.states import RolloutKind
from apps.fleet import selectors as fleet
from apps.fleet.models import Server
from apps.metrics.gates import Against, Gate
from apps.registry import selectors as registry
from apps.registry.models import Model, Version

# Who asked for a version within this time may ask for it again.
LATELY = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Asked:
    """A version that would be dropped, and when it was last seen to answer more requests than before.

    `by_number`: a higher one was loaded, which unversioned requests go to, so these named this one: they will fail.
    Conch's own warm-ups are counted too.
    """

    version: int
    at: datetime
    by_number: bool


@dataclass(frozen=True, slots=True)
class PlannedServer:
    """One server's share, its wave counted from 0; what is expected is None while no such load was seen.

    `load`, `keep` and `drop` are told from what was last seen loaded there, else from what is desired. Hot: the version
    is loaded and untouched, so that naming it starts nothing; it is tried aside all the same, as `steps` say.
    `free_bytes` is what was free when Conch last read it, at `free_at`: preflight reads it again before it decides.
    """

    server: str
    wave: int
    load: tuple[int, ...]
    keep: tuple[int, ...]
    drop: tuple[int, ...]
    is_hot: bool
    steps: tuple[str, ...]
    expected_s: float | None
    expected_bytes: int | None = None
    free_bytes: int | None = None
    free_at: datetime | None = None
    memory: Fit = Fit.UNKNOWN
    asked: tuple[Asked, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedGate:
    """A gate that will be judged; `remark` says why it does not apply."""

    name: str
    sentence: str
    remark: str = ""


@dataclass(frozen=True, slots=True)
class PromotionPlan:
    """A promotion before it is asked for. With `obstacles` it would be refused, by the first of them.

    `expected_s` is all of it, waves and bakes; None while no promotion of the model was seen. `no_shadow` is why it is
    not tried aside, where it is not.
    """

    environment: str
    model: str
    from_version: int | None
    to_version: int
    policy_number: int
    waves: tuple[int, ...]
    parallel: int
    bakes_s: tuple[int, ...]
    servers: tuple[PlannedServer, ...]
    gates: tuple[PlannedGate, ...]
    needs_approval: bool
    interface_changes: tuple[str, ...]
    obstacles: tuple[ControlPlaneError, ...]
    expected_s: float | None
    no_shadow: str = ""


def plan_promotion(
    actor: Actor,
    *,
    environment: str,
    model: str,
    version: int,
    confirm: Collection[str] = (),
    skip: Collection[str] = (),
    coming: Mapping[str, int] | None = None,
    **_: object,
) -> PromotionPlan:
    """The question that `promote` takes, answered instead of done; `coming` are all items where it is of a release."""
    require(actor, VIEW)
    home, wanted = fleet.get_environment(environment), registry.get_version(model, version)
    placed = placements(environment=environment, model=model).defer(None).first()
    row, every, together = policy_row(home), list(fleet.servers_for_rollouts(environment)), coming or {}
    policy = Policy.kept(row.document)
    checks = [lambda: ready_version(model, version), *_moving_checks(placed)]
    checks += promotion_checks(
        placed,
        wanted,
        policy,
        environment=environment,
        every=every,
        confirm=confirm,
        skip=skip,
        now=timezone.now(),
        coming=together,
    )
    placement = placed or Placement(environment=home, model=wanted.model)
    way = _way(placement, wanted, policy, [one for one in every if one.name not in skip], coming=together)
    return _plan(way, policy_number=row.number, obstacles=tuple(refusals(checks)))


def _moving_checks(placed: Placement | None) -> list[Check]:
    return [] if placed is None else [lambda: refuse_if_moving(placed)]


@dataclass(frozen=True, slots=True)
class _Way:
    """How it would go: to which servers, in waves of which `sizes`, by which steps, and what each server takes."""

    placement: Placement
    wanted: Version
    policy: Policy
    servers: list[Server]
    sizes: tuple[int, ...]
    parallel: int
    steps: tuple[str, ...]
    each_s: float | None
    no_shadow: str


def _way(
    placement: Placement, wanted: Version, policy: Policy, servers: list[Server], *, coming: Mapping[str, int]
) -> _Way:
    """Wave by wave; a release goes to all servers at once."""
    size = len(servers)
    no_shadow = without_shadow(RolloutKind.PROMOTE, wanted, placement.overlay, policy, coming=coming)
    return _Way(
        placement,
        wanted,
        policy,
        servers,
        sizes=(size,) if coming else policy.wave_sizes(size),
        parallel=max(size, 1) if coming else policy.parallel,
        steps=_steps(placement, policy_skips=bool(no_shadow), coming=coming),
        each_s=mean_run_s(wanted.model, kind=RolloutKind.PROMOTE),
        no_shadow=no_shadow.get("no_shadow", ""),
    )


def _plan(way: _Way, *, policy_number: int, obstacles: tuple[ControlPlaneError, ...]) -> PromotionPlan:
    placement, wanted, policy, sizes = way.placement, way.wanted, way.policy, way.sizes
    old = placement.active
    return PromotionPlan(
        environment=placement.environment.name,
        model=wanted.model.name,
        from_version=old.number if old else None,
        to_version=wanted.number,
        policy_number=policy_number,
        waves=sizes,
        parallel=way.parallel,
        bakes_s=tuple(policy.bake_after(wave, waves=len(sizes)) for wave in range(len(sizes))),
        servers=tuple(_servers(way)),
        gates=tuple(_planned_gate(gate, wanted.model, has_old=old is not None) for gate in policy.gates),
        needs_approval=policy.approval == Approval.ANOTHER,
        interface_changes=tuple(plan.interface_changes(old.signature, wanted.signature) if old else ()),
        obstacles=obstacles,
        expected_s=_total_s(policy, sizes, way.parallel, way.each_s),
        no_shadow=way.no_shadow,
    )


def _steps(placement: Placement, *, policy_skips: bool, coming: Mapping[str, int]) -> tuple[str, ...]:
    """Those of each run, as it would begin."""
    staying = [one for one in ensembles_on(placement) if one.model not in coming] if placement.pk else []
    return tuple(
        plan.recipe(
            RolloutKind.PROMOTE,
            is_hot=False,
            has_passed_shadow=False,
            skips_shadow=policy_skips,
            has_ensembles=bool(staying),
            is_together=bool(coming),
        )
    )


def _loaded(placement: Placement, servers: list[Server]) -> dict[str, set[int]]:
    """What was last seen READY of the model, by server; a server that never answered is not in it."""
    found: dict[str, set[int]] = {server.name: set() for server in servers if _was_seen(server)}
    for name, version in fleet.ready_versions(servers, model=placement.model.name):
        if name in found:
            found[name].add(version)
    return found


def _was_seen(server: Server) -> bool:
    observation = getattr(server, "observation", None)
    return observation is not None and observation.seen_at is not None


def _servers(way: _Way) -> Iterator[PlannedServer]:
    placement, wanted, policy, servers = way.placement, way.wanted, way.policy, way.servers
    old, seen = placement.active, _loaded(placement, servers)
    hot = hot_servers(placement, wanted) if placement.pk else frozenset()
    beside = {kind: do_stand_beside(placement, wanted, kind=kind) for kind in {server.kind for server in servers}}
    known = rooms(placement, wanted, servers, may_drop=policy.drop_standby)
    desired = {version.number for version in (old, placement.standby) if version is not None}
    for position, server in enumerate(servers):
        tried, final = plan.sets_between(
            old.number if old else None,
            wanted.number,
            stands_beside=old is not None and beside[server.kind],
            keep=policy.standby_window_s > 0,
        )
        is_hot, room = server.name in hot, known.get(server.name, Room())
        loaded = seen.get(server.name, desired)
        yield PlannedServer(
            server=server.name,
            wave=wave_of(way.sizes, position),
            load=tuple(sorted((tried - loaded) | (set() if is_hot else {wanted.number}))),
            keep=tuple(sorted(final - {wanted.number})),
            drop=tuple(sorted(loaded - final)),
            is_hot=is_hot,
            steps=way.steps,
            expected_s=way.each_s,
            expected_bytes=room.need.total_bytes if room.need else None,
            free_bytes=room.free_bytes,
            free_at=room.at,
            memory=room.fit,
            asked=tuple(_asked(server, placement.model.name, loaded - final, loaded)),
        )


def _asked(server: Server, model: str, dropped: set[int], loaded: set[int]) -> Iterator[Asked]:
    """The versions to be dropped that somebody has asked for lately."""
    for version in sorted(dropped):
        at = fleet.asked_at(server, model=model, version=version)
        if at is not None and timezone.now() - at < LATELY:
            yield Asked(version, at, by_number=version < max(loaded))


def _total_s(policy: Policy, sizes: tuple[int, ...], parallel: int, each_s: float | None) -> float | None:
    if each_s is None:
        return None
    loads = sum(ceil(size / parallel) * each_s for size in sizes)
    return round(loads + sum(policy.bake_after(wave, waves=len(sizes)) for wave in range(len(sizes))), 1)


def _planned_gate(gate: Gate, model: Model, *, has_old: bool) -> PlannedGate:
    if gate.against == Against.OBJECTIVE and getattr(model, gate.objective) is None:
        return PlannedGate(gate.name, gate.sentence, f"does not apply: {model} has no such objective")
    if gate.against == Against.REPLACED and not has_old:
        return PlannedGate(gate.name, gate.sentence, "does not apply: no version is replaced")
    return PlannedGate(gate.name, gate.sentence)
