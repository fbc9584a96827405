"""Recording what was done."""

from typing import Any

from django.utils import timezone

from apps.audit.models import Event
from apps.common.actor import Actor


def record(
    actor: Actor,
    verb: str,
    *,
    subject_kind: str,
    subject: str,
    environment: str = "",
    model: str = "",
    reason: str = "",
    **detail: Any,
) -> Event:
    """Keep one event, in the caller's transaction: the change and its record stand or fall together."""
    return Event.objects.create(
        at=timezone.now(),
        verb=verb,
        actor_kind=actor.kind,
        actor=actor.name,
        door=actor.door,
        address=actor.address,
        subject_kind=subject_kind,
        subject=subject,
        environment=environment,
        model=model,
        reason=reason,
        detail=detail,
    )
