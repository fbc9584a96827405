"""A worker that is killed (SIGKILL) in one step, as a process of its own: `lost_worker.py RUN STEP MOMENT`.

MOMENT is `before` (the step has begun, nothing is done), `during` (a moment into it) or `after` (the world
has changed, the row does not say so yet). With the step `none` it walks the run to its end. With the step `judge`, RUN
is a rollout, and it dies with what Prometheus said in its hands (`before` anything is kept) or `after` it is kept.
"""

import os
import signal
import sys
import threading
import time
from typing import Any

import django

DURING_S = 0.15
PATIENCE_S = 40
LOOK_LEASE_S = 1


def die() -> None:
    """As the kernel's out-of-memory killer does it."""
    os.kill(os.getpid(), signal.SIGKILL)


def judge(rollout_id: int, moment: str) -> None:
    """Judge the rollout's gates, and die in it."""
    # Django must be set up first.
    from django.utils import timezone  # noqa: PLC0415

    from apps.deployments import services  # noqa: PLC0415
    from apps.deployments.services import judging as looks  # noqa: PLC0415
    from worker import judging  # noqa: PLC0415

    # Nobody should have to wait a minute for the next one.
    looks.LOOK_LEASE_S = LOOK_LEASE_S
    whole = services.keep_judgements

    def cut(*args: Any, **named: Any) -> None:
        if moment == "after":
            whole(*args, **named)
        die()

    services.keep_judgements = cut
    judging.judge_rollout(rollout_id, now=timezone.now())


def main() -> None:
    """Walk the run, and die where told."""
    run_id, name, moment = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    django.setup()
    if name == "judge":
        judge(run_id, moment)
        return
    # Django must be set up first.
    from worker import engine, steps  # noqa: PLC0415
    from worker.context import Context  # noqa: PLC0415
    from worker.outcomes import Outcome  # noqa: PLC0415

    if name == "none":
        engine.advance_run(run_id)
        return
    whole = steps.STEPS[name]

    def cut(context: Context) -> Outcome:
        if moment == "before":
            die()
        if moment == "during":
            threading.Timer(DURING_S, die).start()
        outcome = whole(context)
        die()
        return outcome

    steps.STEPS[name] = cut
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        engine.advance_run(run_id)


if __name__ == "__main__":
    main()
