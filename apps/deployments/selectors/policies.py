"""Environments' policies, read."""

from collections.abc import Collection
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from apps.deployments.models import EnvironmentPolicy, Rollout
from apps.deployments.policy import Policy
from apps.fleet.models import Environment


def policies(environment: str) -> QuerySet[EnvironmentPolicy]:
    """All that ever were in force, the one in force now first."""
    found = EnvironmentPolicy.objects.select_related("environment").filter(environment__name=environment)
    return found.order_by("-number")


def policy_row(environment: Environment) -> EnvironmentPolicy:
    """The row in force; where none was ever written, number 0 with the defaults (not saved)."""
    newest = EnvironmentPolicy.objects.filter(environment=environment).order_by("-number").first()
    default = EnvironmentPolicy(
        environment=environment, number=0, document=Policy().document(), actor="conch", at=environment.created_at
    )
    return newest or default


def policy_of(environment: Environment) -> Policy:
    """The policy in force in an environment."""
    return Policy.kept(policy_row(environment).document)


def rollout_policy(rollout: Rollout) -> Policy:
    """The policy a rollout began under; the environment's own for one that was begun before there were any."""
    return Policy.kept(rollout.policy) if rollout.policy else policy_of(rollout.placement.environment)


def rollout_policies(rollouts: Collection[Rollout]) -> dict[int, Policy]:
    """The same of each, by its number; an environment is asked once."""
    homes = {one.placement.environment for one in rollouts if not one.policy}
    in_force = {home.pk: policy_of(home) for home in homes}
    return {
        one.pk: Policy.kept(one.policy) if one.policy else in_force[one.placement.environment_id] for one in rollouts
    }


def with_policies(environments: QuerySet[Environment]) -> QuerySet[Any]:
    """The same environments, each with its `policy_document` (None: the defaults), in one query."""
    newest = EnvironmentPolicy.objects.filter(environment=OuterRef("pk")).order_by("-number")
    return environments.annotate(policy_document=Subquery(newest.values("document")[:1]))


def policy_in(row: Any) -> Policy:
    """The policy of a row of `with_policies`."""
    return Policy.kept(row.policy_document or {})
