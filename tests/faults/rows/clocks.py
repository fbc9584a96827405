"""A worker whose clock is set while a rollout moves: an hour forth, an hour back, and right again."""

import os
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from django.utils import timezone

from apps.deployments.models import Rollout, Run
from demo.parts.process import Child
from tests.faults.ground import SLOW, Ground
from tests.faults.table import Fault
from tests.fixtures.processes import ROOT

SKEWED = Path(__file__).parents[1] / "skewed"
HOUR_S, WRONG_S = 3600, 1.5


def _start(ground: Ground) -> Child:
    """A worker whose clock goes by a file."""
    _set(ground, 0)
    path = os.pathsep.join(map(str, (SKEWED, ROOT)))
    return ground.start_worker(more={"PYTHONPATH": path, "CONCH_TEST_SKEW": str(_file(ground))})


def _file(ground: Ground) -> Path:
    return ground.folder / "skew"


def _set(ground: Ground, seconds: int) -> None:
    """The same number of characters each time: it is read while it is written."""
    _file(ground).write_text(f"{seconds:+06d}")


def _is_ahead(rollout_id: int) -> bool:
    """Whether a clock that is ahead has written when to go on with the rollout, or until when its run is held."""
    soon = timezone.now() + timedelta(seconds=HOUR_S / 2)
    rollouts, runs = Rollout.objects.filter(pk=rollout_id), Run.objects.filter(rollout=rollout_id)
    return any(found.exists() for found in (rollouts.filter(due_at__gt=soon), runs.filter(lease_until__gt=soon)))


def _steps(step: str, *seconds: int) -> Callable[[Ground], int]:
    """One worker; its clock is wrong in each of these ways for a while, then right again."""

    def strike(ground: Ground) -> int:
        _start(ground)
        rollout = ground.begin(initialize=SLOW)
        ground.wait_step(rollout, step)
        for wrong in (*seconds, 0):
            _set(ground, wrong)
            time.sleep(WRONG_S)
        return ground.wait_ended(rollout)

    return strike


def _lost_ahead(step: str) -> Callable[[Ground], int]:
    """A worker whose clock is ahead holds the run, and is killed; one whose clock is right goes on."""

    def strike(ground: Ground) -> int:
        worker = _start(ground)
        rollout = ground.begin(initialize=SLOW)
        ground.wait_step(rollout, step)
        _set(ground, HOUR_S)
        ground.wait(lambda: _is_ahead(rollout), rollout)
        worker.kill()
        ground.start_worker()
        return ground.wait_ended(rollout)

    return strike


KIND = "clock steps"
ROWS = [
    *(Fault(KIND, f"an hour forth and back, in {step}", _steps(step, HOUR_S)) for step in ("shadow", "load")),
    *(Fault(KIND, f"an hour back and forth, in {step}", _steps(step, -HOUR_S)) for step in ("shadow", "load")),
    Fault(KIND, "forth, far back and right, in load", _steps("load", HOUR_S, -HOUR_S)),
    *(
        Fault(KIND, f"an hour forth, and the worker killed, in {step}", _lost_ahead(step), is_sample=step == "load")
        for step in ("shadow", "load")
    ),
]
