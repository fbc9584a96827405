"""Releases that are stopped or rolled back as one: while they move, when live, and when they have gone back."""

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.access.services import require
from apps.common.actor import Actor
from apps.common.keeping import error_document
from apps.deployments.errors import Aborted, ReleaseDecided, ReleaseNotLive
from apps.deployments.models import Placement, Release, Rollout
from apps.deployments.selectors.releases import GO, get_release, gone_back, live_parts, moving_parts
from apps.deployments.services.conditions import require_reason
from apps.deployments.services.releases import record_release
from apps.deployments.services.requests import unload
from apps.deployments.services.rolling_back import roll_back
from apps.deployments.services.turning import is_rolled_back, stay_back, turn, turn_back
from apps.deployments.states import ACTIVE_ROLLOUT, RolloutState


def abort_release(actor: Actor, *, release: int, reason: str) -> Release:
    """Stop all of it and put back what was live before; nothing is held or banned."""
    found = get_release(release)
    require(actor, "abort", found.environment.name)
    require_reason(reason, f"aborting {found}")
    error = error_document(Aborted(f"{actor.name}: {reason}"))
    with transaction.atomic():
        found = _held(release)
        going = [one for one in moving_parts(found) if one.state != RolloutState.REVERTING]
        _refuse_decided(found, going)
        for rollout in going:
            turn(actor, rollout, reason=reason, verb="abort", error=error, now=timezone.now())
        _turned(actor, found, "abort_release", reason)
    return get_release(release)


def roll_back_release(actor: Actor, *, release: int, reason: str, ban: bool = True) -> Release:
    """Send all of it back together: while it moves it turns round, afterwards every model goes back at once.

    What went back by itself or was aborted, be it long ago, is held and banned as if it were turned round now.
    """
    found = get_release(release)
    require(actor, "roll_back", found.environment.name)
    require_reason(reason, f"rolling back {found}")
    with transaction.atomic():
        found = _held(release)
        if moving_parts(found):
            _turn_round(actor, found, reason=reason, is_banning=ban)
        else:
            _go_back(actor, found, reason=reason, is_banning=ban)
        _turned(actor, found, "roll_back_release", reason)
    return get_release(release)


def _turn_round(actor: Actor, release: Release, *, reason: str, is_banning: bool) -> None:
    going = [one for one in moving_parts(release) if not is_rolled_back(one, is_banning=is_banning)]
    _refuse_decided(release, going)
    for rollout in going:
        turn_back(actor, rollout, reason=reason, is_banning=is_banning)
    for rollout in gone_back(get_release(release.pk)):
        stay_back(actor, rollout, reason=reason, is_banning=is_banning)


def _go_back(actor: Actor, release: Release, *, reason: str, is_banning: bool) -> None:
    """What the release brought and is still live goes; what came later is somebody else's."""
    environment = release.environment.name
    live = live_parts(release)
    begun = [_back(actor, one, environment, reason=reason, is_banning=is_banning) for one in live]
    stayed = [stay_back(actor, one, reason=reason, is_banning=is_banning) for one in gone_back(release)]
    if not begun and not any(stayed):
        told = "; it went back, and is held or banned as asked" if stayed else ""
        raise ReleaseNotLive(f"nothing of what {release} brought to {environment} is live{told}")
    Rollout.objects.filter(pk__in=[one.pk for one in begun]).update(release=release)


def _back(actor: Actor, rollout: Rollout, environment: str, *, reason: str, is_banning: bool) -> Rollout:
    model = rollout.placement.model.name
    if rollout.from_version is None:
        return unload(actor, environment=environment, model=model, reason=reason, confirm=["hold"])
    return roll_back(
        actor,
        environment=environment,
        model=model,
        to=rollout.from_version.number,
        reason=reason,
        confirm=["interface"],
        ban=is_banning,
    )


def _held(release: int) -> Release:
    """It as it stands now, with all that may be touched locked in the order of all: rollouts, placements, the release.

    Each by its key, those that have ended too: of two who send it back at once, the second finds what the first has
    done, and two releases that share models wait for each other one way round.
    """
    places = set(Rollout.objects.filter(release=release).values_list("placement", flat=True))
    there = Q(release=release) | Q(placement__in=places, state__in=ACTIVE_ROLLOUT)
    list(Rollout.objects.select_for_update().filter(there).order_by("pk").values_list("pk", flat=True))
    list(Placement.objects.select_for_update().filter(pk__in=places).order_by("pk").values_list("pk", flat=True))
    return get_release(release)


def _refuse_decided(release: Release, going: list[Rollout]) -> None:
    """ReleaseDecided when it has passed as a whole, or when none is left to be turned."""
    decision = Release.objects.values_list("decision", flat=True).get(pk=release.pk)
    if decision == GO or not going:
        raise ReleaseDecided(f"{release} is decided: {decision or 'it has ended'}")


def _turned(actor: Actor, release: Release, verb: str, reason: str) -> None:
    Release.objects.filter(pk=release.pk).update(turned_at=timezone.now(), turned_by=actor.name, turned_because=reason)
    record_release(actor, verb, release, reason=reason)
