"""What a step has seen and does nothing about: kept in the audit, once."""

from typing import Any

from django.db import transaction

from apps.audit.services import record
from apps.common.actor import CLOCK
from apps.deployments.models import Rollout, StepRun
from apps.deployments.services.runs import remember

MOST_CHARS = 1_000


def tell_once(step: StepRun, rollout: Rollout, verb: str, *, about: str, reason: str, **detail: Any) -> bool:
    """An event of the rollout, unless this step has told the same `about` the same; False when it has."""
    told, mark = list(step.memory.get("told", [])), f"{verb} {about}"
    if mark in told:
        return False
    placement = rollout.placement
    with transaction.atomic():
        remember(step, told=[*told, mark])
        record(
            CLOCK,
            verb,
            subject_kind="rollout",
            subject=str(rollout.pk),
            environment=placement.environment.name,
            model=placement.model.name,
            reason=reason[:MOST_CHARS],
            about=about,
            **detail,
        )
    return True
