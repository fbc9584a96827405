"""What surrounds a rollout: the disk, the clock, the fleet's own changes, and a newer release of Conch."""

from collections.abc import Callable

import pytest

from apps.common.actor import COMMAND
from apps.deployments import services
from apps.deployments.errors import ServerMoving
from apps.deployments.models import Rollout, Run, StepRun
from apps.fleet import services as fleet
from tests.faults.ground import Ground, as_ordinary_user
from tests.faults.older import as_older
from tests.faults.table import Fault

FULL_KIB = 64


def _disk_full(ground: Ground) -> int:
    """The worker's staging directory is a file system of 64 KiB; the version needs more."""
    rollout = ground.begin(weights=bytes(1_000_000))
    run = ground.run_of(rollout)
    staging = ground.world.repository.parent / f".{ground.world.repository.name}.staging"
    staging.mkdir(exist_ok=True)
    script = f'mount -t tmpfs -o size={FULL_KIB}k none "$1" && shift && exec "$@"'
    ground.run_alone(run, wrapped_in=as_ordinary_user("sh", "-c", script, "sh", staging))
    return ground.walk(rollout)


def _cordoned(ground: Ground) -> int:
    rollout = ground.begin()
    with ground.at_step("load", before=lambda: fleet.cordon_server(COMMAND, name="prod-1", reason="disk is replaced")):
        return ground.walk(rollout)


def _retired_in_use(ground: Ground) -> int:
    """Somebody retires the server that is being changed: that is refused, and the rollout ends as if nothing were."""
    rollout = ground.begin()
    with ground.at_step("load", before=_refused):
        return ground.walk(rollout)


def _refused() -> None:
    with pytest.raises(ServerMoving):
        services.retire_server(COMMAND, name="prod-1", reason="disk is broken")


def _retired_when_done(ground: Ground) -> int:
    """The first server is done and retired while the second is changed: the rollout goes on without it."""
    rollout = ground.begin()
    ground.walk_until(rollout, lambda: _has_run(rollout, "prod-1", "succeeded"))
    _lose_first(ground)
    return ground.walk(rollout)


def _retired_and_put_back(ground: Ground) -> int:
    """The same, and then the promotion is aborted: only the server that is left is put back."""
    rollout = ground.begin()
    ground.walk_until(rollout, lambda: _has_run(rollout, "prod-1", "succeeded"))
    ground.walk_until(rollout, lambda: _has_run(rollout, "prod-2", "running"))
    _lose_first(ground)
    services.abort(COMMAND, rollout=rollout, reason="wrong build")
    ground.walk(rollout)
    assert ground.traffic["prod-2"].failures == []
    return rollout


def _lose_first(ground: Ground) -> None:
    """The machine is gone for good, and somebody says so."""
    ground.world.tritons["prod-1"].kill()
    services.retire_server(COMMAND, name="prod-1", reason="disk is broken")


def _has_run(rollout: int, server: str, state: str) -> bool:
    return Run.objects.filter(rollout=rollout, server__name=server, state=state).exists()


def _older_until(step: str, moment: str) -> Callable[[Ground], int]:
    """An older release's worker ends in that step; it has written all that is known so far."""

    def strike(ground: Ground) -> int:
        rollout = ground.begin()
        ground.lose_worker(ground.run_of(rollout), step, moment)
        as_older(rollout)
        return ground.walk(rollout)

    return strike


def _without_policy(ground: Ground) -> int:
    """From before there were policies: the environment's own holds, and nothing is known of any step."""
    rollout = ground.begin()
    ground.lose_worker(ground.run_of(rollout), "load", "during")
    as_older(rollout)
    Rollout.objects.filter(pk=rollout).update(policy={})
    StepRun.objects.filter(run__rollout=rollout, name="load").update(memory={"sent": True})
    return ground.walk(rollout)


def _older_recipe(ground: Ground) -> int:
    """A recipe from before there was a verification: it is walked as it was written."""
    rollout = ground.begin()
    Run.objects.filter(rollout=rollout).update(recipe=["preflight", "publish", "shadow", "load", "await_ready"])
    return ground.walk(rollout)


ROWS = [
    Fault("disk full", "during publish", _disk_full, ends="rolled_back", code="repository_full", is_sample=True),
    Fault("server leaves", "cordoned before load", _cordoned, is_sample=True),
    Fault("server leaves", "retired in use, which is refused", _retired_in_use),
    Fault(
        "server leaves", "retired when its share is done", _retired_when_done, servers=2, is_fresh=True, goes_down=True
    ),
    Fault(
        "server leaves",
        "retired, then the promotion is aborted",
        _retired_and_put_back,
        ends="rolled_back",
        servers=2,
        is_fresh=True,
        goes_down=True,
    ),
    *(
        Fault("release upgraded", f"{moment} {step}", _older_until(step, moment), is_sample=step == "shadow")
        for step, moment in (("publish", "after"), ("shadow", "during"), ("load", "during"), ("verify", "before"))
    ),
    Fault("release upgraded", "rows without a policy", _without_policy),
    Fault("release upgraded", "a recipe with fewer steps", _older_recipe),
]
