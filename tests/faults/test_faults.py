"""Each fault of the table costs time and nothing else."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from apps.deployments import selectors
from apps.deployments.models import Placement
from tests.faults.ground import Ground
from tests.faults.rows import ROWS
from tests.faults.table import Fault, chosen
from tests.faults.whole import assert_whole

Record = Callable[[str, object], None]


@pytest.mark.live
@pytest.mark.parametrize("fault", chosen(ROWS), ids=str)
def test_a_fault_costs_time_and_nothing_else(
    fault: Fault, stand: Callable[[Fault], Any], record_property: Record
) -> None:
    record_property("fault", f"{fault.kind}\t{fault.name}")

    with stand(fault) as ground:
        rollout = fault.strike(ground)
        told = selectors.get_rollout(rollout)
        record_property("ends", told.state.replace("_", " "))
        assert told.finished_at is not None
        record_property("seconds", (told.finished_at - told.created_at).total_seconds())
        record_property("asked", sum(one.answered + len(one.failures) for one in ground.traffic.values()))
        record_property("failed", sum(len(one.failures) for one in ground.traffic.values()))

        assert_whole(ground, rollout, fault)


@pytest.mark.live
def test_a_fleet_that_answers_with_another_version_than_the_active_one_is_not_whole(
    stand: Callable[[Fault], Any],
) -> None:
    fault = Fault("pointers astray", "after a promotion", _moved_astray, has_clients=False)

    with stand(fault) as ground:
        rollout = fault.strike(ground)

        with pytest.raises(AssertionError, match="answers with 2, not 1"):
            assert_whole(ground, rollout, fault)


def _moved_astray(ground: Ground) -> int:
    """The same two versions are desired and loaded, but the lower one is said to be live."""
    rollout = ground.walk(ground.begin())
    placement = Placement.objects.get(model__name=ground.world.model)
    Placement.objects.filter(pk=placement.pk).update(active=placement.standby, standby=placement.active)
    return rollout


def test_every_kind_of_fault_has_one_row_that_is_always_run() -> None:
    samples = Counter(row.kind for row in ROWS if row.is_sample)

    assert samples == Counter({row.kind for row in ROWS})


def test_no_two_rows_are_called_the_same() -> None:
    assert len({str(row) for row in ROWS}) == len(ROWS)
