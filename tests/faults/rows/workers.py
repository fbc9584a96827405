"""A worker that is killed (-9) before, in and after every step; more workers and clocks than one."""

from collections.abc import Callable

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from tests.faults.ground import SLOW, Ground
from tests.faults.table import Fault

FORWARD = ("preflight", "publish", "shadow", "load", "await_ready", "verify", "expose")
MOMENTS = ("before", "during", "after")


def _in_promotion(step: str, moment: str) -> Callable[[Ground], int]:
    def strike(ground: Ground) -> int:
        rollout = ground.begin()
        ground.lose_worker(ground.run_of(rollout), step, moment)
        return ground.walk(rollout)

    return strike


def _in_settling(moment: str) -> Callable[[Ground], int]:
    def strike(ground: Ground) -> int:
        rollout = ground.begin()
        ground.walk_until(rollout, lambda: "settle" in _directions(rollout))
        ground.lose_worker(ground.run_of(rollout, direction="settle"), "persist", moment)
        return ground.walk(rollout)

    return strike


def _in_rollback(step: str, moment: str) -> Callable[[Ground], int]:
    """Hot: the version rolled back to is still loaded."""

    def strike(ground: Ground) -> int:
        ground.walk(ground.begin())
        asked = services.roll_back(COMMAND, environment="prod", model=ground.world.model, reason="slow")
        ground.lose_worker(ground.run_of(asked.pk), step, moment)
        return ground.walk(asked.pk)

    return strike


def _in_cold_rollback(step: str, moment: str) -> Callable[[Ground], int]:
    """The model was unloaded meanwhile."""

    def strike(ground: Ground) -> int:
        model = ground.world.model
        ground.walk(services.unload(COMMAND, environment="prod", model=model, reason="not needed").pk)
        asked = services.roll_back(COMMAND, environment="prod", model=model, reason="it is needed")
        ground.lose_worker(ground.run_of(asked.pk), step, moment)
        return ground.walk(asked.pk)

    return strike


def _in_unload(step: str, moment: str, direction: str) -> Callable[[Ground], int]:
    def strike(ground: Ground) -> int:
        model = ground.world.model
        asked = services.unload(COMMAND, environment="prod", model=model, reason="not needed")
        ground.walk_until(asked.pk, lambda: direction in _directions(asked.pk))
        ground.lose_worker(ground.run_of(asked.pk, direction=direction), step, moment)
        return ground.walk(asked.pk)

    return strike


def _in_putting_back(step: str, moment: str) -> Callable[[Ground], int]:
    """The promotion is aborted after it has changed the server."""

    def strike(ground: Ground) -> int:
        rollout = ground.begin()
        ground.walk_until(rollout, lambda: ground.has_begun(rollout, "verify"))
        services.abort(COMMAND, rollout=rollout, reason="wrong build")
        ground.walk_until(rollout, lambda: "revert" in _directions(rollout))
        ground.lose_worker(ground.run_of(rollout, direction="revert"), step, moment)
        return ground.walk(rollout)

    return strike


def _in_clearing(moment: str) -> Callable[[Ground], int]:
    """The promotion is aborted in the middle of its shadow."""

    def strike(ground: Ground) -> int:
        rollout = ground.begin(initialize="time.sleep(11)")
        ground.walk_until(rollout, lambda: _is_waiting(rollout, "shadow"))
        services.abort(COMMAND, rollout=rollout, reason="wrong build")
        ground.walk_until(rollout, lambda: "revert" in _directions(rollout))
        ground.lose_worker(ground.run_of(rollout, direction="revert"), "clear", moment)
        return ground.walk(rollout)

    return strike


def _every_time(ground: Ground) -> int:
    rollout = ground.begin()
    for _ in range(6):
        ground.lose_worker(ground.run_of(rollout), "preflight", "before")
    return ground.walk(rollout)


def _while_another_takes_over(ground: Ground) -> int:
    """A whole worker with its beat is killed during the load; a second one is started."""
    first = ground.start_worker()
    rollout = ground.begin(initialize=SLOW)
    ground.wait_step(rollout, "load")
    first.kill()
    ground.start_worker()
    return ground.wait_ended(rollout)


def _two_of_each(ground: Ground) -> int:
    """Two workers, each with a beat of its own: everything is asked for twice, at once."""
    ground.start_worker()
    ground.start_worker()
    return ground.wait_ended(ground.begin(initialize=SLOW))


def _directions(rollout_id: int) -> set[str]:
    return {run.direction for run in selectors.get_rollout(rollout_id).runs.all()}


def _is_waiting(rollout_id: int, name: str) -> bool:
    runs = selectors.get_rollout(rollout_id).runs.all()
    return any(step.name == name and step.state == "waiting" for run in runs for step in run.steps.all())


KILLED = "worker killed"
ROWS = [
    *(
        Fault(KILLED, f"{moment} {step} of a promotion", _in_promotion(step, moment), is_sample=(step, moment) == pick)
        for step in FORWARD
        for moment in MOMENTS
        for pick in [("load", "during")]
    ),
    *(Fault(KILLED, f"{moment} persist", _in_settling(moment)) for moment in MOMENTS),
    *(
        Fault(KILLED, f"{moment} {step} of a hot rollback", _in_rollback(step, moment))
        for step in ("expose", "await_ready")
        for moment in MOMENTS
    ),
    *(
        Fault(KILLED, f"{moment} {step} of a cold rollback", _in_cold_rollback(step, moment), has_clients=False)
        for step in ("preflight", "publish", "load", "await_ready", "verify", "expose")
        for moment in MOMENTS
    ),
    *(
        Fault(KILLED, f"{moment} unload", _in_unload("unload", moment, "forward"), has_clients=False)
        for moment in MOMENTS
    ),
    Fault(KILLED, "after persist of an unload", _in_unload("persist", "after", "settle"), has_clients=False),
    *(
        Fault(KILLED, f"{moment} {step} while putting back", _in_putting_back(step, moment), ends="rolled_back")
        for step in ("restore", "await_ready", "persist")
        for moment in MOMENTS
    ),
    *(Fault(KILLED, f"{moment} clear", _in_clearing(moment), ends="rolled_back") for moment in MOMENTS),
    Fault(KILLED, "in the same step every time", _every_time, ends="rolled_back", code="step_kept_dying"),
    Fault(KILLED, "with its beat, during load", _while_another_takes_over),
    Fault("two workers", "with a beat each", _two_of_each, is_sample=True),
]
