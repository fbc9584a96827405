"""Between the load and the end: a version that never becomes ready, and one that is wrong only where clients are."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors
from apps.deployments.models import Probe, StepRun
from apps.fleet import connecting
from apps.fleet import selectors as fleet
from apps.registry import services as registry
from apps.serving.errors import LoadRefused
from tests.doubles.fleet import SimulatedFleet, SimulatedTriton
from tests.faults.ground import Ground
from tests.fixtures.world import World
from worker.steps.await_ready import DEADLINE_S

WRONG_WHEN_LIVE = "self.off = 0 if args['model_name'].endswith('.shadow') else 1"


@pytest.fixture
def ground(transactional_db: None, simulated_fleet: SimulatedFleet, tmp_path: Path) -> Iterator[Ground]:
    """One simulated server, with version 1 live."""
    triton = SimulatedTriton(simulated_fleet, "prod-1", repository=tmp_path / "models")
    simulated_fleet.add(triton)
    world = World.of("prod", "digits", [triton])  # type: ignore[list-item]
    world.promote(world.upload())
    with ExitStack() as running:
        yield Ground(world, tmp_path, running)
    triton.kill()


def forward(rollout: Any) -> Any:
    return rollout.runs.get(direction="forward")


def test_a_version_that_never_becomes_ready_is_told_with_what_the_index_says_and_put_back(ground: Ground) -> None:
    rollout = ground.begin(initialize="")
    with ground.at_step("await_ready", before=lambda: _spoil(ground, rollout)):
        ground.walk_until(rollout, lambda: _is_waiting(rollout))
    long_ago = timezone.now() - timedelta(seconds=DEADLINE_S + 1)
    StepRun.objects.filter(run__rollout=rollout, name="await_ready").update(started_at=long_ago)

    ended = ground.world.walk(rollout)

    assert ended.state == "rolled_back", ground.world.told(rollout)
    assert forward(ended).error["code"] == "not_ready_in_time"
    assert "no pinned memory" in forward(ended).error["message"]
    assert ground.world.ready("prod-1") == {1}


def test_a_version_that_is_wrong_only_where_clients_are_is_put_back_by_verify(ground: Ground) -> None:
    world = ground.world
    registry.add_sample(
        COMMAND,
        model=world.model,
        name="ones",
        inputs=[{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 1, 1, 1]}],
        outputs=[{"name": "echo", "datatype": "FP32", "shape": [1, 4], "data": [1] * 4, "atol": 1e-6}],
    )

    ended = world.promote(world.upload(initialize=WRONG_WHEN_LIVE, execute="x = x + self.off"))

    steps = {step.name: step.state for step in forward(ended).steps.all()}
    assert ended.state == "rolled_back", world.told(ended.pk)
    assert (steps["shadow"], steps["verify"]) == ("succeeded", "failed")
    assert forward(ended).error["code"] == "golden_mismatch"
    assert "ones" in Probe.objects.get(kind="verify", version=2).message
    assert world.ready("prod-1") == {1}
    assert selectors.get_placement("prod", world.model).active.number == 1  # type: ignore[union-attr]


def _is_waiting(rollout: int) -> bool:
    return StepRun.objects.filter(run__rollout=rollout, name="await_ready", state="waiting").exists()


def _spoil(ground: Ground, rollout: int) -> None:
    """Somebody takes the version off and fails to bring it back: it is not there, and says why."""
    backend, work = connecting.connect(fleet.get_server("prod-1")), selectors.work(ground.run_of(rollout))
    assert work.new is not None
    backend.unload(work.model, timeout_s=10)
    ground.triton.disturb(fail_load="no pinned memory is left")
    with pytest.raises(LoadRefused):
        backend.load(work.model, config=work.config_of(work.new, {work.new.number}), timeout_s=10)
    ground.triton.disturb()
