"""Every message delivered twice; every message lost once."""

from collections.abc import Callable

from apps.common.actor import COMMAND
from apps.deployments import services
from tests.faults.ground import Ground
from tests.faults.relay import TAKEN, Habit, Relay
from tests.faults.table import Fault


def _promotion(habit: Habit) -> Callable[[Ground], int]:
    def strike(ground: Ground) -> int:
        with Relay(ground.broker.url, habit) as relay:
            ground.start_worker(queue=TAKEN)
            rollout = ground.wait_ended(ground.begin())
            assert relay.passed
        return rollout

    return strike


def _rollback(habit: Habit) -> Callable[[Ground], int]:
    def strike(ground: Ground) -> int:
        ground.walk(ground.begin())
        with Relay(ground.broker.url, habit) as relay:
            ground.start_worker(queue=TAKEN)
            asked = services.roll_back(COMMAND, environment="prod", model=ground.world.model, reason="slow")
            rollout = ground.wait_ended(asked.pk)
            assert relay.passed
        return rollout

    return strike


ROWS = [
    Fault("messages twice", "each of a promotion", _promotion("twice"), is_sample=True),
    Fault("messages twice", "each of a rollback", _rollback("twice")),
    Fault("messages lost", "each of a promotion, once", _promotion("lost once"), is_sample=True),
    Fault("messages lost", "each of a rollback, once", _rollback("lost once")),
]
