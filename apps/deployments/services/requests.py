"""What people, CI and the clock ask for: every change of desired state begins here."""

from collections.abc import Collection, Iterable

from apps.access.services import require
from apps.common.actor import CLOCK, Actor
from apps.deployments import plan
from apps.deployments.errors import (
    AlreadyActive,
    InterfaceChanged,
    NeverLive,
    NothingPlaced,
    NothingToRollBackTo,
    PlacementChanged,
    ReasonMissing,
    RolloutActive,
    ServersDown,
    VersionNotReady,
)
from apps.deployments.models import Placement, Rollout
from apps.deployments.selectors.placements import get_placement, placements
from apps.deployments.selectors.rollouts import active_rollout, last_live
from apps.deployments.selectors.targets import default_target, has_passed_shadow
from apps.deployments.services.aborting import abort_for_rollback
from apps.deployments.services.beginning import begin, rollout_active
from apps.deployments.states import RolloutKind
from apps.fleet import selectors as fleet
from apps.fleet.errors import ServerUnknown
from apps.fleet.models import Server
from apps.registry import selectors as registry
from apps.registry.models import Version
from apps.registry.states import VersionState


def promote(
    actor: Actor,
    *,
    environment: str,
    model: str,
    version: int,
    reason: str = "",
    confirm: Collection[str] = (),
    skip: Collection[str] = (),
) -> Rollout:
    """Bring a version live on every server of an environment, one after another."""
    require(actor, "promote", environment)
    home = fleet.get_environment(environment)
    wanted = _ready_version(model, version)
    placed = placements(environment=environment, model=model).defer(None).first()
    if placed is not None:
        _refuse_if_moving(placed)
        if placed.active_id == wanted.pk:
            raise AlreadyActive(f"{wanted} is already live in {environment}")
        _ask_about_interface(placed.active, wanted, confirm)
    every = _servers(environment)
    _refuse_unknown(skip, every, environment)
    servers = [server for server in every if server.name not in skip]
    _refuse_if_down(servers, environment)
    placement = placed or Placement.objects.get_or_create(environment=home, model=wanted.model)[0]
    left_out = sorted(skip)
    return begin(
        actor, placement, RolloutKind.PROMOTE, servers, to=wanted, reason=reason, confirm=confirm, left_out=left_out
    )


def roll_back(
    actor: Actor,
    *,
    environment: str,
    model: str,
    to: int | None = None,
    reason: str,
    confirm: Collection[str] = (),
) -> Rollout:
    """Go back to an earlier version on all servers at once; hot where it is still loaded.

    While a promotion is moving, rolling back means aborting it: it puts back what was live before. A server that
    cannot be reached is left out and named in the plan: it must not hold up the others, and once it is back it
    loads what was persisted.
    """
    require(actor, "roll_back", environment)
    _require_reason(reason, f"rolling back {model} in {environment}")
    placement = get_placement(environment, model)
    moving = active_rollout(placement)
    if moving is not None:
        turned_back = abort_for_rollback(actor, moving, to=to, reason=reason)
        if turned_back is not None:
            return turned_back
        placement = get_placement(environment, model)
    target = _ready_version(model, to) if to is not None else default_target(placement)
    if target is None:
        raise NothingToRollBackTo(f"{model} in {environment}: {_why_no_target(placement)}")
    if placement.active_id == target.pk:
        raise AlreadyActive(f"{target} is already live in {environment}")
    if not has_passed_shadow(target):
        raise NeverLive(f"{target} has never been live anywhere")
    _ask_about_interface(placement.active, target, confirm)
    every = _servers(environment)
    reachable = [server for server in every if _is_reachable(server)] or every
    left_out = [server.name for server in every if server not in reachable]
    return begin(
        actor, placement, RolloutKind.ROLLBACK, reachable, to=target, reason=reason, confirm=confirm, left_out=left_out
    )


def unload(actor: Actor, *, environment: str, model: str, reason: str, confirm: Collection[str] = ()) -> Rollout:
    """Take a model off every server of an environment."""
    require(actor, "unload", environment)
    _require_reason(reason, f"unloading {model} in {environment}")
    placement = get_placement(environment, model)
    _refuse_if_moving(placement)
    if placement.active is None:
        raise NothingPlaced(f"no version of {model} is live in {environment}")
    return begin(actor, placement, RolloutKind.UNLOAD, _servers(environment), to=None, reason=reason, confirm=confirm)


def retire_standby(placement: Placement) -> Rollout | None:
    """Let go of a standby whose window is over; None when the placement is moving or has changed."""
    servers = [server for server in _servers(placement.environment.name) if _is_reachable(server)]
    if placement.active is None or active_rollout(placement) or not servers:
        return None
    try:
        return begin(
            CLOCK,
            placement,
            RolloutKind.RETIRE,
            servers,
            to=placement.active,
            reason=f"the standby window of version {placement.standby and placement.standby.number} is over",
            confirm=(),
        )
    except (RolloutActive, PlacementChanged):
        return None


def _why_no_target(placement: Placement) -> str:
    made_live = last_live(placement)
    if made_live is not None and made_live.kind == RolloutKind.ROLLBACK:
        return f"{made_live} by {made_live.actor} has just rolled it back"
    return "no earlier version was ever live there"


def _ready_version(model: str, number: int) -> Version:
    version = registry.get_version(model, number)
    if version.state != VersionState.READY:
        cause = version.error.get("message") or f"it is {version.state}"
        raise VersionNotReady(f"{version} cannot be promoted: {cause}", state=version.state)
    return version


def _require_reason(reason: str, what: str) -> None:
    if not reason.strip():
        raise ReasonMissing(f"{what} needs a reason", field="reason")


def _servers(environment: str) -> list[Server]:
    return list(fleet.servers_for_rollouts(environment))


def _refuse_unknown(skip: Collection[str], servers: Iterable[Server], environment: str) -> None:
    strangers = sorted(set(skip) - {server.name for server in servers})
    if strangers:
        raise ServerUnknown(f"{environment} has no server {', '.join(strangers)} to leave out", field="skip")


def _refuse_if_moving(placement: Placement) -> None:
    moving = active_rollout(placement)
    if moving is not None:
        raise rollout_active(moving)


def _refuse_if_down(servers: Iterable[Server], environment: str) -> None:
    down = [server.name for server in servers if not _is_reachable(server)]
    if down:
        raise ServersDown(f"{environment}: no answer from {', '.join(down)}", servers=down)


def _is_reachable(server: Server) -> bool:
    observation = getattr(server, "observation", None)
    return observation is not None and observation.is_reachable


def _ask_about_interface(old: Version | None, new: Version, confirm: Collection[str]) -> None:
    changes = plan.interface_changes(old.signature, new.signature) if old else []
    if changes and "interface" not in confirm:
        raise InterfaceChanged(f"{old} -> {new.number}: {'; '.join(changes)}", changes=changes)
