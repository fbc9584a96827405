"""Brings observed to desired: looks, keeps what differs, and begins what mends it. Calls nothing outside.

What to do is decided by the pure `drift` and `healing`; a pass that finds nothing new writes nothing.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from apps.deployments.drift import SERVING, Difference
from apps.deployments.healing import Case, Decision, decide
from apps.deployments.models import Placement, Rollout
from apps.deployments.selectors.drift import Look, look
from apps.deployments.selectors.ensembles import members_by_placement
from apps.deployments.selectors.healing import Tries, self_healing, tries
from apps.deployments.services.drift import keep_drift, note_decisions
from apps.deployments.services.healing import heal
from apps.deployments.states import RolloutKind, RolloutState
from apps.fleet import selectors as fleet
from apps.fleet import services as fleet_services
from apps.fleet.models import Server

# A rollout that goes on once somebody says so, perhaps in days.
STANDING = (RolloutState.UNAPPROVED, RolloutState.PAUSED)


def reconcile(server_ids: Sequence[int], *, now: datetime) -> None:
    """One pass over these servers, right after they were asked what they serve."""
    servers = list(fleet.servers_to_judge(server_ids))
    looks = look(servers, now=now)
    keep_drift(looks, now=now)
    tried, healing = tries(servers, now=now), self_healing(servers)
    cases = _with_members([case for found in looks for case in _cases(found, tried, healing)])
    unsettled = {(found.server.pk, model) for found in looks for model in _unsettled(found)}
    decisions = decide(cases, under_way=tried.under_way, unsettled=unsettled, now=now)
    note_decisions([*decisions, *(one for found in looks for one in _in_motion(found))])
    _begin(decisions, looks)
    fleet_services.settle_wishes(servers)


def _unsettled(found: Look) -> Iterator[str]:
    """The models that are being healed there, or about which nothing can be said since something has moved them."""
    for model in found.placements.keys() - found.judged:
        moving = found.moving.get(model)
        if moving is None or moving.kind == RolloutKind.HEAL:
            yield model


def _cases(found: Look, tried: Tries, healing: Collection[int]) -> list[Case]:
    by_model: dict[str, list[Difference]] = defaultdict(list)
    for each in found.differences:
        by_model[each.owner].append(each)
    heals_itself = found.server.environment_id in healing
    return [_case(found, model, each, tried, heals_itself=heals_itself) for model, each in by_model.items()]


def _with_members(cases: list[Case]) -> list[Case]:
    """The same cases, those of ensembles knowing which models come first."""
    if not cases:
        return cases
    members = members_by_placement(case.placement_id for case in cases)
    return [replace(case, members=members.get(case.placement_id, ())) for case in cases]


def _case(found: Look, model: str, differences: list[Difference], tried: Tries, *, heals_itself: bool) -> Case:
    server, placement = found.server, found.placements.get(model)
    attempts, last_at = tried.of_late.get((server.pk, model), (0, None))
    active = placement.active.number if placement and placement.active else None
    astray = {each.version for each in differences if each.kind not in SERVING}
    return Case(
        server_id=server.pk,
        placement_id=placement.pk if placement else 0,
        model=model,
        kinds=frozenset(each.kind for each in differences),
        serves_active=active is not None and active not in astray,
        refusal=_refusal(server, placement, found.moving.get(model)),
        heals_itself=heals_itself,
        is_asked=server.reconcile_asked_at is not None,
        attempts=attempts,
        last_at=last_at,
    )


def _in_motion(found: Look) -> list[Decision]:
    """Models that a rollout is changing: it, and nobody else, says what happens to them."""
    return [
        Decision(
            Case(found.server.pk, rollout.placement_id, model, frozenset(), serves_active=False),
            _moves(rollout),
        )
        for model, rollout in found.moving.items()
        if model not in found.judged
    ]


def _moves(rollout: Rollout) -> str:
    """Who says what happens to it, and what of that is not plain: that it stands."""
    return f"{rollout} ({rollout.kind}) is moving it" + f", and is {rollout.state}" * (rollout.state in STANDING)


def _refusal(server: Server, placement: Placement | None, moving: Rollout | None) -> str:
    """Who says no, in words."""
    if server.cordoned_at:
        return f"{server.name} is cordoned"
    if moving is not None:
        return _moves(moving)
    if placement is not None and placement.held_at:
        return f"{placement} is held by {placement.held_by}: {placement.hold_reason}"
    return ""


def _begin(decisions: list[Decision], looks: list[Look]) -> None:
    """One rollout for each placement, however many servers it is astray on."""
    servers = {found.server.pk: found.server for found in looks}
    placements: dict[int, Placement] = {
        placement.pk: placement for found in looks for placement in found.placements.values()
    }
    due: dict[int, list[Case]] = defaultdict(list)
    for decision in decisions:
        if not decision.why_not:
            due[decision.case.placement_id].append(decision.case)
    for placement_id, cases in due.items():
        kinds = sorted({kind for case in cases for kind in case.kinds})
        chosen = [servers[case.server_id] for case in cases]
        heal(placements[placement_id], chosen, reason=f"{', '.join(kinds)}: put right by itself")
