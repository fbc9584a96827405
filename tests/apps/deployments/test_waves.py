"""Waves: how many servers at a time, when the next ones begin, and what a failure does."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.models import Rollout, Run
from tests.factories.fleets import FleetRows


def ten(rows: FleetRows, **policy: Any) -> Rollout:
    """A promotion on ten servers under a policy."""
    for number in range(3, 11):
        rows.server(f"prod-{number}", "prod")
    services.update_environment(COMMAND, name="prod", **policy)
    return services.promote(COMMAND, environment="prod", model="digits", version=2)


def states(rollout: Rollout) -> list[str]:
    return list(rollout.runs.filter(direction="forward").order_by("position").values_list("state", flat=True))


def finish(rollout: Rollout, *, state: str = "succeeded", most: int = 100, **fields: Any) -> None:
    """End what is running, as the engine would."""
    for run in rollout.runs.filter(state="running").order_by("position")[:most]:
        services.note_change(run)
        services.end_run(run, state=state, now=timezone.now(), **fields)  # type: ignore[arg-type]


def advance(rollout: Rollout, *, after_s: float = 0) -> str:
    services.advance_rollout(rollout.pk, now=timezone.now() + timedelta(seconds=after_s))
    rollout.refresh_from_db()
    return str(rollout.state)


def test_a_wave_begins_as_many_servers_as_the_policy_allows(rows: FleetRows) -> None:
    rollout = ten(rows, waves=[1, "50%", "100%"], parallel=3)

    begun = []
    for _ in range(4):
        advance(rollout)
        begun.append(states(rollout).count("running"))
        finish(rollout)

    assert begun == [1, 3, 1, 3]
    assert [run.wave for run in rollout.runs.order_by("position")] == [0, 1, 1, 1, 1, 2, 2, 2, 2, 2]


def test_a_place_that_comes_free_is_taken_at_once(rows: FleetRows) -> None:
    rollout = ten(rows, parallel=3)
    advance(rollout)
    finish(rollout, most=1)

    advance(rollout)

    assert states(rollout).count("running") == 3


def test_asking_twice_begins_nothing_twice(rows: FleetRows) -> None:
    rollout = ten(rows, parallel=3)
    advance(rollout)

    advance(rollout)

    assert states(rollout).count("running") == 3


def test_after_a_wave_it_bakes_and_looks_again_when_that_is_over(rows: FleetRows) -> None:
    rollout = ten(rows, waves=[1, "100%"], bake_s=300)
    advance(rollout)
    finish(rollout)

    advance(rollout)
    during = states(rollout).count("running")
    due_at = rollout.due_at
    advance(rollout, after_s=299)
    still = states(rollout).count("running")
    advance(rollout, after_s=301)

    assert (during, still, states(rollout).count("running")) == (0, 0, 1)
    assert due_at > timezone.now() + timedelta(seconds=110)
    assert (rollout.wave, rollout.baking_since) == (1, None)


def test_the_last_bake_comes_before_the_pointers_move(rows: FleetRows) -> None:
    rollout = ten(rows, parallel=10, final_bake_s=60)
    advance(rollout)
    finish(rollout)
    advance(rollout)
    before = selectors.get_placement("prod", "digits").active

    advance(rollout, after_s=61)
    finish(rollout)

    assert before is not None
    assert before.number == 1
    assert advance(rollout, after_s=61) == "succeeded"
    after = selectors.get_placement("prod", "digits").active
    assert after is not None
    assert after.number == 2


def test_a_failed_server_turns_the_rollout_round_and_the_rest_never_begins(rows: FleetRows) -> None:
    rollout = ten(rows, parallel=2)
    advance(rollout)
    finish(rollout, state="failed", most=1)

    assert advance(rollout) == "reverting"
    assert states(rollout).count("cancelled") == 8


def test_a_policy_may_pause_at_a_failed_server_so_that_it_can_be_tried_again(rows: FleetRows) -> None:
    rollout = ten(rows, parallel=2, failure="pause")
    advance(rollout)
    finish(rollout, state="failed", most=1)
    Run.objects.filter(rollout=rollout, state="failed").update(error={"message": "prod-1: the disk is full"})
    paused = advance(rollout)
    why = selectors.get_rollout(rollout.pk).pause_reason

    services.retry_run(COMMAND, rollout=rollout.pk, server="prod-1", reason="the disk is free again")
    advance(rollout)

    assert (paused, why) == ("paused", "prod-1: the disk is full")
    assert states(rollout)[:2] == ["running", "running"]
    assert Run.objects.get(rollout=rollout, server__name="prod-1").attempts == 2


def test_a_server_tried_again_does_not_end_a_pause_that_somebody_asked_for(rows: FleetRows) -> None:
    rollout = ten(rows, parallel=2)
    advance(rollout)
    services.pause(COMMAND, rollout=rollout.pk, reason="the network is being changed")
    finish(rollout, state="failed", most=1)

    services.retry_run(COMMAND, rollout=rollout.pk, server="prod-1", reason="the disk is free again")

    assert advance(rollout) == "paused"
    assert states(rollout)[0] == "queued"


def test_a_rollout_of_an_older_release_goes_one_server_after_another(rows: FleetRows) -> None:
    rollout = rows.rollout("digits", "prod", 1, 2, state="running")
    finish(rollout)

    advance(rollout)

    assert states(rollout) == ["succeeded", "running"]


@pytest.mark.parametrize("servers", [10, 200])
def test_going_on_costs_the_same_for_few_servers_and_many(rows: FleetRows, servers: int) -> None:
    for number in range(3, servers + 1):
        rows.server(f"prod-{number}", "prod")
    services.update_environment(COMMAND, name="prod", parallel=5)
    rollout = services.promote(COMMAND, environment="prod", model="digits", version=2)
    advance(rollout)
    finish(rollout, most=1)

    with CaptureQueriesContext(connection) as queries:
        services.advance_rollout(rollout.pk, now=timezone.now())

    assert len(queries) == 7
