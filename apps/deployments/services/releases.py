"""Releases: several models asked for as one, held up and let go on as one."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.deployments.errors import ReleaseInvalid, ReleaseStandsElsewhere
from apps.deployments.models import Release, Rollout
from apps.deployments.selectors.releases import get_release
from apps.deployments.services.conditions import require_reason
from apps.deployments.services.controls import approve, pause, resume
from apps.deployments.services.requests import promote
from apps.deployments.states import RolloutKind, RolloutState
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
        record_release(actor, "begin_release", release, reason=reason, items=[dict(item) for item in items])
    return get_release(release.pk)


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
        record_release(actor, f"{verb}_release", found, reason=reason, rollouts=fitting)
    return get_release(release)


def refuse_bad(items: Sequence[Mapping[str, Any]]) -> None:
    """ReleaseInvalid when it names nothing, too much, or a model twice."""
    names = [str(item["model"]) for item in items]
    if not names or len(names) > MOST_ITEMS:
        raise ReleaseInvalid(f"a release has 1 to {MOST_ITEMS} models, this one {len(names)}", field="items")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ReleaseInvalid(f"the release names {', '.join(twice)} more than once", field="items")


def record_release(actor: Actor, verb: str, release: Release, *, reason: str, **detail: Any) -> None:
    """An event of the release, in the caller's transaction."""
    record(
        actor,
        verb,
        subject_kind="release",
        subject=str(release.pk),
        environment=release.environment.name,
        reason=reason,
        **detail,
    )
