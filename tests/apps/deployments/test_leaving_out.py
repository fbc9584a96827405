"""Servers that are cordoned while a promotion is on its way to them."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.audit import selectors as audit
from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.models import Rollout
from apps.fleet import services as fleet
from tests.factories.fleets import FleetRows


def cordon(*names: str) -> None:
    for name in names:
        fleet.cordon_server(COMMAND, name=name, reason="disk is replaced")


def begun(rows: FleetRows, **policy: object) -> Rollout:
    """A promotion of version 2 on two servers, one after another, that changes prod-1."""
    services.change_policy(COMMAND, environment="prod", document=policy)
    rollout = services.promote(COMMAND, environment="prod", model="digits", version=2)
    services.advance_rollout(rollout.pk, now=timezone.now())
    return rollout


def advance(rollout: Rollout, *, times: int = 1) -> Rollout:
    """All that runs succeeds, then the rollout is looked at, so often."""
    for _ in range(times):
        rollout.runs.filter(state="running").update(state="succeeded", finished_at=timezone.now())
        services.advance_rollout(rollout.pk, now=timezone.now())
    return selectors.get_rollout(rollout.pk)


@pytest.mark.parametrize("policy", [{}, {"waves": [1, "100%"]}])
def test_a_server_cordoned_before_its_turn_is_left_out_and_the_others_go_on(
    rows: FleetRows, policy: dict[str, object]
) -> None:
    rollout = begun(rows, **policy)

    cordon("prod-2")
    told = advance(rollout, times=4)

    assert told.state == "succeeded"
    assert {run.server.name for run in told.runs.all()} == {"prod-1"}
    assert told.plan["left_out"] == ["prod-2"]
    (event,) = audit.events(verb="leave_out")
    assert (event.subject, event.reason) == (str(rollout.pk), "prod-2 was cordoned: disk is replaced")


def test_a_wave_that_was_left_out_is_not_baked(rows: FleetRows) -> None:
    rows.server("prod-3", "prod")
    rollout = begun(rows, waves=[1, 2, "100%"], bake_s=300)
    Rollout.objects.filter(pk=rollout.pk).update(baking_since=timezone.now() - timedelta(seconds=301))

    cordon("prod-2")
    told = advance(rollout, times=4)

    assert {run.server.name: run.state for run in told.runs.all()} == {"prod-1": "succeeded", "prod-3": "succeeded"}
    assert told.wave == 3


def test_the_last_bake_is_that_of_the_whole_although_the_last_wave_was_left_out(rows: FleetRows) -> None:
    rollout = begun(rows, waves=[1, "100%"], final_bake_s=300)

    cordon("prod-2")
    advance(rollout, times=4)
    during = rollout.runs.filter(direction="settle").count()
    services.advance_rollout(rollout.pk, now=timezone.now() + timedelta(seconds=301))

    assert (during, rollout.runs.filter(direction="settle").count()) == (0, 1)


def test_a_server_cordoned_in_its_turn_is_brought_to_the_end(rows: FleetRows) -> None:
    rollout = begun(rows)

    cordon("prod-1")
    told = advance(rollout, times=4)

    assert {run.server.name: run.state for run in told.runs.filter(direction="forward")} == {
        "prod-1": "succeeded",
        "prod-2": "succeeded",
    }


@pytest.mark.parametrize("has_changed", [True, False])
def test_a_server_that_is_tried_again_is_not_left_half_done(rows: FleetRows, *, has_changed: bool) -> None:
    rollout = begun(rows)
    rollout.runs.filter(state="running").update(state="queued", has_changed_server=has_changed)

    cordon("prod-1")
    services.advance_rollout(rollout.pk, now=timezone.now())

    assert rollout.runs.get(server__name="prod-1").state == "running"


def test_a_promotion_whose_every_server_is_cordoned_before_its_turn_does_not_succeed(rows: FleetRows) -> None:
    services.change_policy(COMMAND, environment="prod", document={})
    rollout = services.promote(COMMAND, environment="prod", model="digits", version=2)

    cordon("prod-1", "prod-2")
    told = advance(rollout, times=3)

    assert (told.state, told.error["code"]) == ("rolled_back", "no_servers")
    assert selectors.get_placement("prod", "digits").active == rows.versions["digits", 1]


def test_all_that_are_cordoned_before_the_next_one_are_left_out_in_one_look(rows: FleetRows) -> None:
    for name in ("prod-3", "prod-4", "prod-5"):
        rows.server(name, "prod")
    rollout = begun(rows)

    cordon("prod-2", "prod-3", "prod-5")
    told = advance(rollout)

    (event,) = audit.events(verb="leave_out")
    assert event.detail["servers"] == ["prod-2", "prod-3"]
    assert told.runs.get(state="running").server.name == "prod-4"
    assert told.runs.get(server__name="prod-5").state == "queued"


def test_a_server_that_had_to_wait_for_a_worker_is_left_out_once(rows: FleetRows) -> None:
    rollout = begun(rows)
    late = {"prod-2": rollout.runs.get(server__name="prod-2").recipe}
    Rollout.objects.filter(pk=rollout.pk).update(plan={**rollout.plan, "late": late})

    cordon("prod-2")
    told = advance(rollout, times=4)

    assert (told.state, told.plan["left_out"]) == ("succeeded", ["prod-2"])
    assert audit.events(verb="leave_out").count() == 1
