"""Conch's own parts: broker and database restarted while a rollout moves."""

import time
from collections.abc import Callable

from tests.faults.ground import SLOW, Ground
from tests.faults.table import Fault


def _broker(step: str) -> Callable[[Ground], int]:
    def strike(ground: Ground) -> int:
        ground.start_worker()
        rollout = ground.begin(initialize=SLOW)
        ground.wait_step(rollout, step)
        ground.broker.kill()
        time.sleep(1)
        ground.broker.start()
        return ground.wait_ended(rollout)

    return strike


def _database(step: str) -> Callable[[Ground], int]:
    def strike(ground: Ground) -> int:
        ground.start_worker()
        rollout = ground.begin(initialize=SLOW)
        ground.wait_step(rollout, step)
        ground.restart_database(away_s=1)
        return ground.wait_ended(rollout)

    return strike


ROWS = [
    *(
        Fault("broker restarted", f"in {step}", _broker(step), is_sample=step == "shadow")
        for step in ("shadow", "load")
    ),
    *(
        Fault("PostgreSQL restarted", f"in {step}", _database(step), is_sample=step == "load", has_own_database=True)
        for step in ("shadow", "load", "verify")
    ),
]
