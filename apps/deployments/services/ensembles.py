"""What ensembles demand of the models they are made of; each refusal names the ensemble."""

from collections.abc import Collection, Mapping

from apps.deployments.errors import MembersMissing, NeededByEnsemble
from apps.deployments.models import Placement
from apps.deployments.selectors.ensembles import ensembles_on, members_of, stopped_by
from apps.deployments.selectors.placements import placements
from apps.deployments.selectors.wanted import desired_versions
from apps.registry.models import Version

ENSEMBLE = "ensemble"


def refuse_without_members(version: Version, *, environment: str, coming: Mapping[str, int]) -> None:
    """MembersMissing when what the version is made of is neither live there nor coming: it would be loaded unasked."""
    members = members_of(version)
    if not members:
        return
    live = {placement.model.name: desired_versions(placement) for placement in placements(environment=environment)}
    live |= {model: live.get(model, frozenset()) | {number} for model, number in coming.items()}
    missing = [
        member.model if member.version is None else f"{member.model} version {member.version}"
        for member in members
        if not live.get(member.model) or (member.version is not None and member.version not in live[member.model])
    ]
    if missing:
        raise MembersMissing(f"{version} needs {', '.join(missing)}, not live in {environment}", members=missing)


def refuse_unload_of_member(placement: Placement) -> None:
    """NeededByEnsemble: without its member an ensemble stops at once."""
    needing = ensembles_on(placement)
    if needing:
        names = [one.model for one in needing]
        raise NeededByEnsemble(f"{placement} is part of {', '.join(names)}", ensembles=names)


def refuse_dropping_pinned(
    placement: Placement, wanted: Version, *, keeps_old: bool, coming: Mapping[str, int]
) -> None:
    """NeededByEnsemble when an ensemble that stays takes one version only, and that would be let go of."""
    kept = {wanted.number}
    if keeps_old and placement.active is not None and placement.active.number < wanted.number:
        kept.add(placement.active.number)
    for one in ensembles_on(placement):
        pinned = one.pins(placement.model.name)
        if pinned is not None and pinned not in kept and one.model not in coming:
            raise NeededByEnsemble(
                f"{one.model} in {placement.environment} takes version {pinned} of {placement.model} only",
                hint=f"Promote a version of {one.model} first that takes another one.",
                ensembles=[one.model],
            )


def ask_about_pins(placement: Placement, wanted: Version, confirm: Collection[str]) -> None:
    """NeededByEnsemble when going back to `wanted` stops ensembles that take another version, unless confirmed."""
    stopped = stopped_by(placement, wanted.number)
    if stopped and ENSEMBLE not in confirm:
        takes = [
            f"{one.model} takes version {one.pins(placement.model.name)} of {placement.model} only" for one in stopped
        ]
        raise NeededByEnsemble(
            f"{'; '.join(takes)}: it would stop in {placement.environment} on {wanted.number}",
            hint='Roll the ensemble back first, or confirm that it stops (REST: confirm: ["ensemble"]).',
            ensembles=[one.model for one in stopped],
        )


def needs_standby(placement: Placement) -> bool:
    """Whether an ensemble takes the very version that is kept hot."""
    number = placement.standby.number if placement.standby else None
    return number is not None and any(one.pins(placement.model.name) == number for one in ensembles_on(placement))
