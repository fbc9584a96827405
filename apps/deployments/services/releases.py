"""Releases: several models asked for, stopped and rolled back as one."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.common.keeping import error_document
from apps.deployments.errors import Aborted, ReleaseDecided, ReleaseInvalid, ReleaseNotLive, ReleaseStandsElsewhere
from apps.deployments.models import Release, Rollout
from apps.deployments.selectors.releases import GO, get_release
from apps.deployments.services.conditions import require_reason
from apps.deployments.services.controls import approve, pause, resume
from apps.deployments.services.requests import promote, unload
from apps.deployments.services.rolling_back import roll_back
from apps.deployments.services.turning import rolled_back_of, stay_back, turn, turn_back
from apps.deployments.states import ACTIVE_ROLLOUT, RolloutKind, RolloutState
from apps.fleet import selectors as fleet

MOST_ITEMS = 50


def begin_release(
    actor: Actor,
    *,
    environment: str,
    items: Sequence[Mapping[str, Any]],
    reason: str = "",
    confirm: Collection[str] = (),
    skip: Collection[str] = (),
) -> Release:
    """Promote several models as one: all rollouts begin, or the first refusal tells why none does."""
    require(actor, "promote", environment)
    home = fleet.get_environment(environment)
    refuse_bad(items)
    with transaction.atomic():
        release = Release.objects.create(
            environment=home,
            items={str(item["model"]): item["version"] for item in items},
            reason=reason,
            actor=actor.name,
            actor_kind=actor.kind,
            created_at=timezone.now(),
        )
        for item in sorted(items, key=lambda one: str(one["model"])):
            promote(
                actor,
                environment=environment,
                model=item["model"],
                version=item["version"],
                reason=reason,
                confirm=confirm,
                skip=skip,
                release=release,
            )
        _record(actor, "begin_release", release, reason=reason, items=[dict(item) for item in items])
    return get_release(release.pk)


def abort_release(actor: Actor, *, release: int, reason: str) -> Release:
    """Stop all of it and put back what was live before; nothing is held or banned."""
    found = get_release(release)
    require(actor, "abort", found.environment.name)
    require_reason(reason, f"aborting {found}")
    error = error_document(Aborted(f"{actor.name}: {reason}"))
    with transaction.atomic():
        for rollout in _stoppable(found):
            turn(actor, rollout, reason=reason, verb="abort", error=error, now=timezone.now())
        _turned(actor, found, "abort_release", reason)
    return get_release(release)


def roll_back_release(actor: Actor, *, release: int, reason: str, ban: bool = True) -> Release:
    """Send all of it back together: while it moves it turns round, afterwards every model goes back at once."""
    found = get_release(release)
    require(actor, "roll_back", found.environment.name)
    require_reason(reason, f"rolling back {found}")
    with transaction.atomic():
        moving = [one for one in _parts(found) if one.state in ACTIVE_ROLLOUT]
        if moving:
            for rollout in _stoppable(found, is_rolling_back=True):
                turn_back(actor, rollout, reason=reason, is_banning=ban)
            for rollout in _parts(get_release(release)):
                if rollout.state == RolloutState.ROLLED_BACK:
                    stay_back(actor, rollout, reason=reason, is_banning=ban)
        else:
            _go_back(actor, found, reason=reason, is_banning=ban)
        _turned(actor, found, "roll_back_release", reason)
    return get_release(release)


def approve_release(actor: Actor, *, release: int, reason: str) -> Release:
    """Let all of it begin that waits for somebody else's word; all or none."""
    return _each(actor, release, "approve", approve, in_states={RolloutState.UNAPPROVED}, reason=reason)


def pause_release(actor: Actor, *, release: int, reason: str) -> Release:
    """Begin nothing more in any of them; what has begun on a server comes to its end."""
    return _each(actor, release, "pause", pause, in_states={RolloutState.QUEUED, RolloutState.RUNNING}, reason=reason)


def resume_release(actor: Actor, *, release: int, reason: str) -> Release:
    """Go on with all that is paused."""
    return _each(actor, release, "resume", resume, in_states={RolloutState.PAUSED}, reason=reason)


def _each(
    actor: Actor,
    release: int,
    verb: str,
    control: Callable[..., Rollout],
    *,
    in_states: Collection[str],
    reason: str,
) -> Release:
    """The same to each of its rollouts to which it can be done, in one transaction: one refusal refuses all."""
    found = get_release(release)
    require(actor, verb, found.environment.name)
    require_reason(reason, f"{verb} of {found}")
    with transaction.atomic():
        # In the order in which whoever walks or stops them takes them.
        parts = Rollout.objects.select_for_update().filter(release=found, kind=RolloutKind.PROMOTE).order_by("pk")
        states = dict(parts.values_list("pk", "state"))
        fitting = [pk for pk, state in states.items() if state in in_states]
        if not fitting:
            told = ", ".join(sorted(set(states.values())))
            raise ReleaseStandsElsewhere(f"{found}: there is nothing to {verb}, its rollouts are {told}", states=told)
        for pk in fitting:
            control(actor, rollout=pk, reason=reason)
        _record(actor, f"{verb}_release", found, reason=reason, rollouts=fitting)
    return get_release(release)


def _go_back(actor: Actor, release: Release, *, reason: str, is_banning: bool) -> None:
    """What the release brought and is still live goes; what came later is somebody else's."""
    environment = release.environment.name
    live = [one for one in _parts(release) if one.placement.active_id == one.to_version_id]
    live = [one for one in live if one.state == RolloutState.SUCCEEDED]
    if not live:
        raise ReleaseNotLive(f"nothing of what {release} brought to {environment} is live")
    begun = [_back(actor, one, environment, reason=reason, is_banning=is_banning) for one in live]
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


def _parts(release: Release) -> list[Rollout]:
    return [rollout for rollout in release.rollouts.all() if rollout.kind == RolloutKind.PROMOTE]


def _stoppable(release: Release, *, is_rolling_back: bool = False) -> list[Rollout]:
    """Those that can still be turned, locked: before the release, as whoever walks one of them does it.

    What was only aborted can still be rolled back, which holds and bans. ReleaseDecided when the release has passed as
    a whole, or goes back already.
    """
    locked = Rollout.objects.select_for_update().filter(release=release, state__in=ACTIVE_ROLLOUT)
    states = dict(locked.order_by("pk").values_list("pk", "state"))
    turned = {pk for pk, state in states.items() if state == RolloutState.REVERTING}
    done = rolled_back_of(turned) if is_rolling_back else turned
    going = [one for one in _parts(release) if one.pk in states.keys() - done]
    decision = Release.objects.values_list("decision", flat=True).get(pk=release.pk)
    if decision == GO or not going:
        raise ReleaseDecided(f"{release} is decided: {decision or 'it has ended'}")
    return going


def _turned(actor: Actor, release: Release, verb: str, reason: str) -> None:
    Release.objects.filter(pk=release.pk).update(turned_at=timezone.now(), turned_by=actor.name, turned_because=reason)
    _record(actor, verb, release, reason=reason)


def refuse_bad(items: Sequence[Mapping[str, Any]]) -> None:
    """ReleaseInvalid when it names nothing, too much, or a model twice."""
    names = [str(item["model"]) for item in items]
    if not names or len(names) > MOST_ITEMS:
        raise ReleaseInvalid(f"a release has 1 to {MOST_ITEMS} models, this one {len(names)}", field="items")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ReleaseInvalid(f"the release names {', '.join(twice)} more than once", field="items")


def _record(actor: Actor, verb: str, release: Release, *, reason: str, **detail: Any) -> None:
    record(
        actor,
        verb,
        subject_kind="release",
        subject=str(release.pk),
        environment=release.environment.name,
        reason=reason,
        **detail,
    )
