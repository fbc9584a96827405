"""The matrix while a rollout moves: what it has changed already is not drift."""

import pytest

from apps.deployments import selectors
from apps.deployments.models import Overlay, Rollout, Run
from apps.deployments.plan import config_digest
from apps.deployments.selectors import Cell
from apps.fleet import selectors as fleet
from apps.fleet.models import ObservedVersion
from tests.factories.fleets import FleetRows

NEW = {"max_batch_size": 4}


@pytest.fixture
def baking(rows: FleetRows) -> Rollout:
    """A promotion to version 2 has passed on prod-1 and bakes; prod-2 waits for its turn."""
    rollout = rows.rollout("digits", "prod", 1, 2, state="running")
    rollout.runs.filter(server__name="prod-1").update(state="succeeded", has_changed_server=True)
    rows.observed("prod-1", "digits", 2)
    return rollout


def cells(rows: FleetRows) -> dict[str, Cell]:
    models, homes = list(rows.models.values()), list(fleet.environments())
    (row,) = selectors.fleet_rows(models, homes, fleet.servers_at_a_glance())
    return {cell.server.name: cell for cell in row.cells["prod"]}


def test_a_server_that_has_passed_is_no_drift_while_the_rollout_bakes(rows: FleetRows, baking: Rollout) -> None:
    seen = cells(rows)

    assert {name: (cell.state, cell.going_to) for name, cell in seen.items()} == {
        "prod-1": ("changing", 2),
        "prod-2": ("serving", None),
    }


def test_a_server_that_lost_the_new_version_after_it_had_passed_is_drift(rows: FleetRows, baking: Rollout) -> None:
    ObservedVersion.objects.filter(server=rows.servers["prod-1"], version=2).delete()

    seen = cells(rows)["prod-1"]

    assert (seen.state, [(one.version, one.kind) for one in seen.differences]) == ("drift", [(2, "wrong_set")])


def test_a_server_that_has_passed_a_new_overlay_is_no_drift_while_that_bakes(rows: FleetRows) -> None:
    overlay = Overlay.objects.create(placement=rows.placements["digits", "prod"], number=1, document=NEW)
    rollout = rows.rollout("digits", "prod", 1, 1, kind="reconfigure", state="running")
    Rollout.objects.filter(pk=rollout.pk).update(to_overlay=overlay)
    rollout.runs.filter(server__name="prod-1").update(state="succeeded", has_changed_server=True)
    ObservedVersion.objects.filter(server__name="prod-1").update(loaded_under=config_digest(NEW))

    seen = cells(rows)

    assert {name: cell.state for name, cell in seen.items()} == {"prod-1": "changing", "prod-2": "serving"}


def test_a_server_that_was_put_back_is_held_against_the_old_version_again(rows: FleetRows, baking: Rollout) -> None:
    forward = baking.runs.get(server__name="prod-1")
    Run.objects.create(
        rollout=baking, server=forward.server, model=forward.model, direction="revert", state="succeeded"
    )
    Rollout.objects.filter(pk=baking.pk).update(state="reverting")

    seen = cells(rows)["prod-1"]

    assert (seen.state, [one.version for one in seen.differences]) == ("drift", [2])


def test_a_model_of_which_only_a_standby_is_left_is_absent(rows: FleetRows) -> None:
    placement = rows.placements["digits", "prod"]
    placement.active, placement.standby = None, placement.active
    placement.save()

    seen = cells(rows)

    assert {name: cell.state for name, cell in seen.items()} == {"prod-1": "absent", "prod-2": "absent"}
