"""What a release would do, model by model, each in the company of the others. Nothing is changed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.access.services import require
from apps.access.verbs import VIEW
from apps.common.actor import Actor
from apps.deployments.services.planning import PromotionPlan, plan_promotion
from apps.deployments.services.releases import refuse_bad


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """The plan of each model, by name. With obstacles in any of them the whole would be refused."""

    environment: str
    items: tuple[PromotionPlan, ...]

    @property
    def would_begin(self) -> bool:
        """Whether nothing stands in the way of any of them."""
        return not any(item.obstacles for item in self.items)

    @property
    def expected_s(self) -> float | None:
        """They go side by side, so as long as the longest; None while one of them was never promoted."""
        each = [item.expected_s for item in self.items]
        known = [seconds for seconds in each if seconds is not None]
        return max(known) if known and len(known) == len(each) else None


def plan_release(
    actor: Actor,
    *,
    environment: str,
    items: Sequence[Mapping[str, Any]],
    confirm: Collection[str] = (),
    skip: Collection[str] = (),
    **_: object,
) -> ReleasePlan:
    """The question that `begin_release` takes, answered instead of done."""
    require(actor, VIEW)
    refuse_bad(items)
    coming = {str(item["model"]): int(item["version"]) for item in items}
    plans = [
        plan_promotion(
            actor, environment=environment, model=model, version=version, confirm=confirm, skip=skip, coming=coming
        )
        for model, version in sorted(coming.items())
    ]
    return ReleasePlan(environment, tuple(plans))
