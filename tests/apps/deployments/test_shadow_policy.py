"""When a version is tried aside: always, where it has not passed elsewhere, or never."""

from typing import Any

import pytest

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.models import Overlay, Placement, Rollout, StepRun
from tests.factories.fleets import FleetRows
from tests.factories.histories import passed_shadow

PROD: dict[str, Any] = {"environment": "prod", "model": "digits"}


def with_shadow(rows: FleetRows, when: str) -> None:
    """The environment's policy says when."""
    document = selectors.policy_of(rows.environments["prod"]).document() | {"shadow": {"when": when, "load": None}}
    services.change_policy(COMMAND, environment="prod", document=document, reason="the test says so")


def recipe(rollout: Rollout) -> list[str]:
    """Of its first run."""
    return list(rollout.runs.all()[0].recipe)


@pytest.mark.parametrize(
    ("when", "passed", "second_step", "told"),
    [
        ("always", 2, "shadow", set()),
        ("always", 1, "shadow", set()),
        ("unproven", 2, "load", {"no_shadow"}),
        ("unproven", 1, "shadow", set()),
        ("never", 1, "load", {"no_shadow"}),
    ],
)
def test_the_policy_says_when_a_version_is_tried_aside(
    rows: FleetRows, when: str, passed: int, second_step: str, told: set[str]
) -> None:
    with_shadow(rows, when)
    passed_shadow(rows, passed)

    rollout = services.promote(COMMAND, **PROD, version=2)

    assert recipe(rollout)[2] == second_step
    assert set(rollout.plan) & {"no_shadow"} == told


def test_what_has_passed_under_another_configuration_is_tried_again(rows: FleetRows) -> None:
    with_shadow(rows, "unproven")
    passed_shadow(rows, 2)
    placement = rows.placements["digits", "prod"]
    overlay = Overlay.objects.create(placement=placement, number=1, document={"max_batch_size": 4}, created_by="ci")
    Placement.objects.update(overlay=overlay)

    rollout = services.promote(COMMAND, **PROD, version=2)

    assert "shadow" in recipe(rollout)


def test_a_version_that_went_live_without_a_shadow_can_be_rolled_back_to(rows: FleetRows) -> None:
    made_live = passed_shadow(rows, 2)
    StepRun.objects.filter(run__rollout=made_live).update(name="verify")

    rollout = services.roll_back(COMMAND, **PROD, to=2, reason="2 was better")

    assert rollout.to_version == rows.versions["digits", 2]
