"""Servers that somebody cordons before their turn has come: the rollout goes on without them."""

from collections.abc import Collection

from apps.audit.services import record
from apps.common.actor import CLOCK
from apps.common.dispatch import wake
from apps.deployments.models import Rollout, Run


def leave_out(rollout: Rollout, run_ids: Collection[int]) -> None:
    """Forget runs that have not begun, and say so; uncordoned, a server is brought right like any other."""
    gone = Run.objects.filter(pk__in=run_ids).select_related("server").order_by("position")
    reasons = {run.server.name: run.server.cordon_reason for run in gone}
    gone.delete()
    rollout.plan = {**rollout.plan, "left_out": [*rollout.plan.get("left_out", ()), *reasons]}
    Rollout.objects.filter(pk=rollout.pk).update(plan=rollout.plan)
    placement = rollout.placement
    record(
        CLOCK,
        "leave_out",
        subject_kind="rollout",
        subject=str(rollout.pk),
        environment=placement.environment.name,
        model=placement.model.name,
        reason="; ".join(f"{name} was cordoned: {why}" for name, why in reasons.items()),
        servers=list(reasons),
    )
    wake("conch.advance_rollout", rollout_id=rollout.pk)
