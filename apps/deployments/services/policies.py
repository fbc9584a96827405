"""Environments and the policies in force there."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.deployments.errors import PolicyChanged, PolicyInvalid
from apps.deployments.models import EnvironmentPolicy
from apps.deployments.policy import Policy
from apps.deployments.selectors.policies import policy_row
from apps.fleet import selectors as fleet
from apps.fleet import services
from apps.fleet.models import Environment


@transaction.atomic
def add_environment(actor: Actor, *, name: str, rank: int = 0, **settings: Any) -> Environment:
    """A new environment; `settings` are keys of its policy that differ from the defaults."""
    made = services.add_environment(actor, name=name, rank=rank)
    if settings:
        change_policy(actor, environment=name, document=settings)
    return made


@transaction.atomic
def update_environment(actor: Actor, *, name: str, rank: int | None = None, **settings: Any) -> Environment:
    """Change an environment's rank, or single keys of its policy."""
    changed = services.update_environment(actor, name=name, **({} if rank is None else {"rank": rank}))
    if settings:
        kept = Policy.kept(policy_row(changed).document).document()
        change_policy(actor, environment=name, document={**kept, **settings})
    return changed


@transaction.atomic
def change_policy(
    actor: Actor, *, environment: str, document: Mapping[str, Any], based_on: int | None = None, reason: str = ""
) -> EnvironmentPolicy:
    """Put a policy in force for promotions that begin from now on; keys that are not named get their defaults.

    PolicyChanged when another than number `based_on` is in force. Nothing is written when nothing would change.
    """
    require(actor, "change_policy", environment)
    home = Environment.objects.select_for_update().get(pk=fleet.get_environment(environment).pk)
    before = policy_row(home)
    if based_on is not None and based_on != before.number:
        raise PolicyChanged(f"{before} by {before.actor} is in force, not {based_on}", number=before.number)
    wanted = Policy.parse(document)
    _require_other(environment, wanted)
    was, now = Policy.kept(before.document).document(), wanted.document()
    if was == now:
        return before
    made = EnvironmentPolicy.objects.create(
        environment=home, number=before.number + 1, document=now, reason=reason, actor=actor.name
    )
    differ = [key for key in now if now[key] != was.get(key)]
    record(
        actor,
        "change_policy",
        subject_kind="environment",
        subject=environment,
        environment=environment,
        reason=reason,
        number=made.number,
        was={key: was.get(key) for key in differ},
        now={key: now[key] for key in differ},
    )
    return made


def _require_other(environment: str, wanted: Policy) -> None:
    """What a promotion must have passed before is another environment, and there is one."""
    if wanted.after is None:
        return
    others = [home.name for home in fleet.environments() if home.name != environment]
    if wanted.after.environment not in others:
        there = ", ".join(others) or "none yet"
        raise PolicyInvalid(
            f"after.environment: name another environment; there are: {there}", field="after.environment"
        )
