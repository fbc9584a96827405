"""A Triton that is killed, restarted or hangs while a rollout changes it."""

import threading
import time
from collections.abc import Callable

from apps.common.actor import COMMAND
from apps.deployments import services
from tests.faults.ground import SLOW, Ground
from tests.faults.table import Fault

STEPS = ("preflight", "publish", "shadow", "load", "await_ready", "verify", "expose")
HUNG_S = 4.0
# The shortest that a policy allows, and a server that hangs for longer than that.
DEADLINE_S, PAST_S = 10, 12.5


def _restart(ground: Ground) -> None:
    ground.triton.kill()
    ground.triton.start()


def _between(step: str) -> Callable[[Ground], int]:
    """It is gone and back before the step is called."""

    def strike(ground: Ground) -> int:
        rollout = ground.begin()
        with ground.at_step(step, before=lambda: _restart(ground)):
            return ground.walk(rollout)

    return strike


def _in_rollback(ground: Ground) -> int:
    """Its configuration still names the version that was rolled back."""
    ground.walk(ground.begin())
    asked = services.roll_back(COMMAND, environment="prod", model=ground.world.model, reason="slow")
    with ground.at_step("await_ready", before=lambda: _restart(ground)):
        return ground.walk(asked.pk)


def _after(step: str) -> Callable[[Ground], int]:
    """It is gone and back after the step has done its work, before that is recorded.

    After the last step nobody looks again in the rollout: the reconciler finds it, and heals it.
    """

    def strike(ground: Ground) -> int:
        rollout = ground.begin()
        with ground.at_step(step, after=lambda: _restart(ground)):
            ground.walk(rollout)
        return ground.heal(rollout)

    return strike


def _during(step: str, harm: Callable[[Ground], object]) -> Callable[[Ground], int]:
    """Harm is done from the side, half a second into the step."""

    def strike(ground: Ground) -> int:
        rollout = ground.begin(initialize=SLOW)
        timer = threading.Timer(0.5, harm, (ground,))
        with ground.at_step(step, before=timer.start):
            ground.walk(rollout)
        timer.join()
        return rollout

    return strike


def _unload(ground: Ground) -> int:
    asked = services.unload(COMMAND, environment="prod", model=ground.world.model, reason="not needed")
    timer = threading.Timer(0.05, _restart, (ground,))
    with ground.at_step("unload", before=timer.start):
        ground.walk(asked.pk)
    timer.join()
    return int(asked.pk)


def _deadly(ground: Ground) -> int:
    """A version whose process ends in its first request: the server says READY, and never lets go of it."""
    return ground.walk(ground.begin(initialize="", execute="import os; os._exit(1)"))


def _hang(ground: Ground) -> None:
    ground.triton.pause()
    time.sleep(HUNG_S)
    ground.triton.resume()


def _hung_from(step: str, *, for_s: float) -> Callable[[Ground], int]:
    """It hangs from the moment in which the step is called, and comes to itself from the side."""

    def strike(ground: Ground) -> int:
        rollout = ground.begin()
        timer = threading.Timer(for_s, ground.triton.resume)

        def hang() -> None:
            ground.triton.pause()
            timer.start()

        with ground.at_step(step, before=hang):
            ground.walk(rollout)
        timer.join()
        return rollout

    return strike


KILLED, RESTARTED, HUNG = "Triton killed", "Triton restarted", "Triton hung"
ROWS = [
    Fault(KILLED, "during the load", _during("load", _restart), goes_down=True, is_fresh=True, is_sample=True),
    Fault(KILLED, "during the shadow", _during("shadow", _restart), goes_down=True, is_fresh=True),
    Fault(KILLED, "during the unload", _unload, has_clients=False, is_fresh=True),
    *(
        Fault(RESTARTED, f"before {step}", _between(step), goes_down=True, is_fresh=True, is_sample=step == "verify")
        for step in STEPS
    ),
    Fault(RESTARTED, "between the two steps of a hot rollback", _in_rollback, goes_down=True, is_fresh=True),
    *(Fault(RESTARTED, f"after {step}", _after(step), goes_down=True, is_fresh=True) for step in STEPS),
    Fault(
        "model dies",
        "in its first request",
        _deadly,
        ends="rolled_back",
        code="shadow_failed",
        is_fresh=True,
        is_sample=True,
        policy={"progress_deadline_s": 10},
    ),
    *(
        Fault(HUNG, f"in {step}", _during(step, _hang), goes_down=True, is_fresh=True, is_sample=step == "load")
        for step in ("shadow", "load")
    ),
    Fault(HUNG, "from verify on", _hung_from("verify", for_s=HUNG_S), goes_down=True, is_fresh=True),
    *(
        Fault(
            HUNG,
            f"from {step} on, past the progress deadline",
            _hung_from(step, for_s=PAST_S),
            ends="rolled_back",
            goes_down=True,
            is_fresh=True,
            policy={"progress_deadline_s": DEADLINE_S},
        )
        for step in ("load", "verify")
    ),
]
