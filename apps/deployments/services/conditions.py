"""What must be so before anything begins; each refusal names what is missing."""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from apps.deployments import plan
from apps.deployments.errors import (
    InterfaceChanged,
    NotProvenElsewhere,
    PromotionsFrozen,
    ReasonMissing,
    ServersDown,
    VersionNotReady,
)
from apps.deployments.models import Placement, Rollout
from apps.deployments.policy import Policy
from apps.deployments.selectors.elsewhere import ran_well
from apps.deployments.selectors.rollouts import active_rollout
from apps.deployments.services.beginning import rollout_active
from apps.deployments.states import RolloutKind
from apps.fleet import selectors as fleet
from apps.fleet.errors import ServerUnknown
from apps.fleet.models import Server
from apps.registry import selectors as registry
from apps.registry.models import Version
from apps.registry.states import VersionState


def ready_version(model: str, number: int) -> Version:
    """The version, or VersionNotReady with what it lacks."""
    version = registry.get_version(model, number)
    if version.state != VersionState.READY:
        cause = version.error.get("message") or f"it is {version.state}"
        raise VersionNotReady(f"{version} cannot be promoted: {cause}", state=version.state)
    return version


def require_reason(reason: str, what: str) -> None:
    """ReasonMissing when it is empty."""
    if not reason.strip():
        raise ReasonMissing(f"{what} needs a reason", field="reason")


def refuse_unknown(skip: Collection[str], servers: Iterable[Server], environment: str) -> None:
    """ServerUnknown for a name to leave out that is none of the environment's."""
    strangers = sorted(set(skip) - {server.name for server in servers})
    if strangers:
        raise ServerUnknown(f"{environment} has no server {', '.join(strangers)} to leave out", field="skip")


def refuse_if_moving(placement: Placement) -> Rollout | None:
    """RolloutActive when something moves the placement; a heal blocks nobody: it is what to take over from."""
    moving = active_rollout(placement)
    if moving is not None and moving.kind != RolloutKind.HEAL:
        raise rollout_active(moving)
    return moving


def refuse_if_down(servers: Iterable[Server], environment: str) -> None:
    """ServersDown with the names of those that did not answer lately."""
    down = [server.name for server in servers if not fleet.is_reachable(server)]
    if down:
        raise ServersDown(f"{environment}: no answer from {', '.join(down)}", servers=down)


def refuse_frozen(policy: Policy, environment: str, *, now: datetime) -> None:
    """PromotionsFrozen with when it opens, while one of the policy's freeze windows is open."""
    opens_at = policy.frozen_until(now)
    if opens_at is not None:
        why = ", ".join(freeze.reason for freeze in policy.freeze if freeze.reason and freeze.end(now))
        told = f"{environment} takes no promotions until {opens_at:%Y-%m-%d %H:%M %Z}" + (f": {why}" if why else "")
        raise PromotionsFrozen(told, opens_at=opens_at.isoformat())


def refuse_unproven(policy: Policy, version: Version, *, now: datetime) -> None:
    """NotProvenElsewhere when it has not run well for long enough where the policy wants it first."""
    if policy.after is None:
        return
    needed, where = timedelta(minutes=policy.after.minutes), policy.after.environment
    ran = ran_well(version, where, now=now)
    if ran < needed or not ran:
        minutes = int(ran.total_seconds() // 60)
        raise NotProvenElsewhere(
            f"{version} has run in {where} for {minutes} min, {policy.after.minutes} are needed"
            if ran
            else f"{version} has not run in {where}, or was rolled back there",
            environment=where,
            minutes=minutes,
        )


def ask_about_interface(old: Version | None, new: Version, confirm: Collection[str]) -> None:
    """InterfaceChanged when clients of the old version would get errors, unless that was confirmed."""
    changes = plan.interface_changes(old.signature, new.signature) if old else []
    if changes and "interface" not in confirm:
        raise InterfaceChanged(f"{old} -> {new.number}: {'; '.join(changes)}", changes=changes)
