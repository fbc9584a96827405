"""Rows as an older release of Conch wrote them: what it did not know yet is not in them."""

from collections.abc import Mapping
from typing import Any

from apps.deployments.models import Rollout, StepRun

# The keys that the first release to write each document had.
PLAN = ("hot", "confirmed", "servers")
POLICY = (
    "waves",
    "parallel",
    "bake_s",
    "final_bake_s",
    "gates",
    "inconclusive",
    "failure",
    "approval",
    "progress_deadline_s",
    "standby_window_s",
    "freeze",
    "after",
)
DETAILS = {
    "preflight": ("free_bytes", "loaded"),
    "publish": ("was_there", "copied_bytes"),
    "shadow": ("golden", "latencies_us", "warmup", "remark"),
}
MEMORY = ("sent", "reason_before", "phase", "stamps")


def as_older(rollout: int) -> None:
    """The rollout, its policy and the steps it has got to so far; a policy has a setting that nobody knows any more."""
    row = Rollout.objects.get(pk=rollout)
    policy = {**_only(row.policy, POLICY), "given_up_since": True}
    Rollout.objects.filter(pk=rollout).update(plan=_only(row.plan, PLAN), policy=policy)
    for step in StepRun.objects.filter(run__rollout=rollout):
        detail = _only(step.detail, DETAILS.get(step.name, tuple(step.detail)))
        memory = _only(step.memory, MEMORY)
        if "detail" in step.memory:
            memory["detail"] = _only(step.memory["detail"], DETAILS["shadow"])
        StepRun.objects.filter(pk=step.pk).update(detail=detail, memory=memory)


def _only(document: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key in keys}
