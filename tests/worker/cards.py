"""Rollouts of a model that takes so much of a simulated card, and what was measured of them."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.models import MemoryReading
from apps.deployments.services import healing
from apps.fleet.models import Server
from tests.doubles.triton.memory import PARAMETER
from tests.factories.triton_models import config_text
from tests.fixtures.world import World
from worker import memory

MIB = 2**20
EACH = 300 * MIB


def upload(world: World) -> int:
    parameter = f'parameters {{ key: "{PARAMETER}" value {{ string_value: "{EACH}" }} }}\n'
    return world.upload(config=config_text(world.model) + parameter)


def at_rest() -> None:
    """What the sweep has done once the servers have come to rest."""
    later = timezone.now() + timedelta(seconds=7)
    for pk in selectors.due_readings(later):
        memory.measure(pk, now=later)


def promote(world: World) -> Any:
    ended = world.promote(upload(world))
    at_rest()
    return ended


def reconfigure(world: World, document: dict[str, Any]) -> Any:
    asked = services.set_overlay(
        COMMAND, environment="prod", model="heavy", document=document, reason="the queue was long"
    )
    assert asked.rollout is not None
    return world.walk(asked.rollout.pk)


def heal(world: World, placement: Any) -> Any:
    begun = healing.heal(placement, list(Server.objects.all()), reason="missing")
    assert begun is not None
    return world.walk(begun.pk)


def kept() -> list[tuple[str, int, int]]:
    rows = MemoryReading.objects.order_by("pk")
    return [(row.action, row.version, row.after[0]["used"] - row.before[0]["used"]) for row in rows]
