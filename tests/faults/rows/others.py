"""No plain promotion: another configuration, a heal, a member under an ensemble; workers and Tritons are lost."""

from collections.abc import Callable
from typing import Any

from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.models import Rollout
from apps.fleet import connecting
from apps.fleet import selectors as fleet
from tests.faults.ground import Ground
from tests.faults.table import Fault
from tests.worker.test_ensembles import ensemble_on
from worker import clock

MOMENTS = ("before", "during", "after")
BATCHING: dict[str, Any] = {"dynamic_batching": {"max_queue_delay_microseconds": 500}}


def _reconfigure(ground: Ground) -> int:
    """A change of overlay that starts the version anew beside itself; it has begun."""
    model = ground.world.model
    asked = services.set_overlay(COMMAND, environment="prod", model=model, document=BATCHING, reason="the queue")
    assert asked.rollout is not None
    services.advance_rollout(asked.rollout.pk, now=timezone.now())
    return int(asked.rollout.pk)


def _member(ground: Ground) -> int:
    """The next version of a model that a live ensemble is made of."""
    over = ensemble_on(ground.world)
    over.promote(1)
    return ground.begin()


def _heal(ground: Ground) -> int:
    """Somebody has taken the model off the server: the look that finds it has begun to bring it back."""
    world, server = ground.world, fleet.get_server("prod-1")
    connecting.connect(server).unload(world.model, timeout_s=10)

    def is_found() -> bool:
        clock.observe_servers([server.pk], timezone.now())
        return Rollout.objects.filter(kind="heal").exists()

    ground.wait(is_found, selectors.rollouts(model=world.model)[0].pk)
    return int(Rollout.objects.get(kind="heal").pk)


def _lost(begin: Callable[[Ground], int], step: str, moment: str) -> Callable[[Ground], int]:
    """A worker is killed in that step of the change."""

    def strike(ground: Ground) -> int:
        rollout = begin(ground)
        ground.lose_worker(ground.run_of(rollout), step, moment)
        return ground.walk(rollout)

    return strike


def _restarted(begin: Callable[[Ground], int], step: str) -> Callable[[Ground], int]:
    """The server is gone and back before the step is called; whatever nobody looks at again is healed."""

    def restart(ground: Ground) -> None:
        ground.triton.kill()
        ground.triton.start()

    def strike(ground: Ground) -> int:
        rollout = begin(ground)
        with ground.at_step(step, before=lambda: restart(ground)):
            ground.walk(rollout)
        return ground.heal(rollout)

    return strike


KILLED, RESTARTED = "worker killed", "Triton restarted"
ROWS = [
    *(Fault(KILLED, f"{moment} reconfigure", _lost(_reconfigure, "reconfigure", moment)) for moment in MOMENTS),
    *(Fault(KILLED, f"{moment} ensembles", _lost(_member, "ensembles", moment)) for moment in MOMENTS),
    *(
        Fault(KILLED, f"during {step} of a heal", _lost(_heal, step, "during"), has_clients=False)
        for step in ("preflight", "load", "await_ready", "verify")
    ),
    Fault(RESTARTED, "before reconfigure", _restarted(_reconfigure, "reconfigure"), goes_down=True, is_fresh=True),
    Fault(RESTARTED, "before ensembles", _restarted(_member, "ensembles"), goes_down=True, is_fresh=True),
]
