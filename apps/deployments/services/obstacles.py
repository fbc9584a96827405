"""Everything a promotion can be refused for, in the order in which it is told; for promoting and for planning."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime

from apps.common.errors import ControlPlaneError
from apps.deployments.errors import AlreadyActive
from apps.deployments.models import Placement
from apps.deployments.policy import Policy
from apps.deployments.services.bans import refuse_banned
from apps.deployments.services.conditions import (
    ask_about_interface,
    refuse_frozen,
    refuse_if_down,
    refuse_unknown,
    refuse_unproven,
)
from apps.deployments.services.ensembles import refuse_dropping_pinned, refuse_without_members
from apps.deployments.services.fitting import require_fit
from apps.deployments.services.holds import ask_about_hold
from apps.fleet.models import Server
from apps.registry.models import Version
from apps.serving import backends

Check = Callable[[], object]


def promotion_checks(
    placed: Placement | None,
    wanted: Version,
    policy: Policy,
    *,
    environment: str,
    every: Iterable[Server],
    confirm: Collection[str],
    skip: Collection[str],
    now: datetime,
    coming: Mapping[str, int] | None = None,
) -> Iterator[Check]:
    """Each raises what it refuses. `placed` is None where the model was never there.

    `coming` are the models and versions that go live together with it.
    """
    if placed is not None:
        yield lambda: _refuse_active(placed, wanted)
        yield lambda: refuse_banned(placed, wanted)
        yield lambda: ask_about_hold(placed, confirm)
        yield lambda: ask_about_interface(placed.active, wanted, confirm)
    yield lambda: refuse_frozen(policy, environment, now=now)
    yield lambda: refuse_unproven(policy, wanted, now=now)
    if placed is not None:
        yield lambda: refuse_dropping_pinned(placed, wanted, keeps_old=policy.standby_window_s > 0, coming=coming or {})
    yield lambda: refuse_without_members(wanted, environment=environment, coming=coming or {})
    yield lambda: refuse_unknown(skip, every, environment)
    yield lambda: refuse_if_down([server for server in every if server.name not in skip], environment)
    if placed is not None:
        yield lambda: _refuse_misfit(placed, wanted)
    yield lambda: require_fit(
        wanted, environment, [server for server in every if server.name not in skip], confirm=confirm, coming=coming
    )


def refusals(checks: Iterable[Check]) -> Iterator[ControlPlaneError]:
    """What these checks refuse, each asked."""
    for check in checks:
        try:
            check()
        except ControlPlaneError as error:
            yield error


def _refuse_active(placed: Placement, wanted: Version) -> None:
    if placed.active_id == wanted.pk:
        raise AlreadyActive(f"{wanted} is already live in {placed.environment}")


def _refuse_misfit(placed: Placement, wanted: Version) -> None:
    """What the environment's overlay sets must go with the version's own configuration."""
    if placed.overlay is not None:
        backends.get("triton").CONFIG.check_fit(wanted.config, placed.overlay.document)
