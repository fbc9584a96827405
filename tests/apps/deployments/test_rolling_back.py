"""Going back: what it stops, whom it reaches, what it holds and bans, and how long it took."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.audit import selectors as audit
from apps.common.actor import COMMAND
from apps.deployments import errors, selectors, services
from apps.deployments.models import Ban, Rollout, Run, StepRun
from apps.deployments.services.turning import turn_back
from apps.deployments.states import RunState
from apps.fleet.models import Server
from tests.factories.fleets import FleetRows
from tests.factories.histories import passed_shadow, went_live

PROD: dict[str, Any] = {"environment": "prod", "model": "digits"}


def live(rows: FleetRows) -> FleetRows:
    """Version 2 is live, 1 is hot below it."""
    went_live(rows, 2, before=1)
    return rows


def ended(rollout: Rollout) -> Rollout:
    """The rollout after all its runs have succeeded and its end was reached."""
    for _ in range(3):
        rollout.runs.filter(state__in=("queued", "running")).update(state="succeeded", finished_at=timezone.now())
        services.advance_rollout(rollout.pk, now=timezone.now())
    return selectors.get_rollout(rollout.pk)


def promote_first_server(rows: FleetRows) -> Rollout:
    """A promotion of version 2 that has changed prod-1 and is about to go on to prod-2."""
    rollout = services.promote(COMMAND, **PROD, version=2)
    rollout.runs.filter(position=0).update(state="succeeded", has_changed_server=True)
    services.advance_rollout(rollout.pk, now=timezone.now())
    return rollout


def test_a_rollback_holds_the_placement_and_bans_what_was_live(rows: FleetRows) -> None:
    live(rows)
    rollout = services.roll_back(COMMAND, **PROD, reason="wrong labels")

    placement, ban = selectors.get_placement("prod", "digits"), Ban.objects.get()
    assert (placement.held_by, placement.hold_reason) == ("command line", "wrong labels")
    assert placement.held_at == rollout.created_at
    assert (ban.version, ban.reason, ban.rollout) == (rows.versions["digits", 2], "wrong labels", rollout)
    verbs = {event.verb for event in audit.events(model="digits")}
    assert verbs == {"roll_back", "ban_version"}


def test_a_rollback_whose_servers_are_all_retired_before_their_turn_has_not_succeeded(rows: FleetRows) -> None:
    live(rows)
    rollout = services.roll_back(COMMAND, **PROD, reason="wrong labels")
    late = {run.server.name: run.recipe for run in rollout.runs.all()}
    rollout.runs.all().delete()
    Rollout.objects.filter(pk=rollout.pk).update(plan={**rollout.plan, "late": late})

    Server.objects.filter(name__in=late).update(state="retired")
    services.advance_rollout(rollout.pk, now=timezone.now())

    told = selectors.get_rollout(rollout.pk)
    assert (told.state, told.error["code"]) == ("failed", "no_servers")
    assert selectors.get_placement("prod", "digits").active == rows.versions["digits", 2]


def test_a_freeze_window_that_stops_promotions_stops_no_rollback(rows: FleetRows) -> None:
    live(rows)
    frozen = {"cron": "0 0 * * *", "duration_s": 86_399, "reason": "release week"}
    services.change_policy(COMMAND, environment="prod", document={"freeze": [frozen]})

    with pytest.raises(errors.PromotionsFrozen, match="release week"):
        services.promote(COMMAND, **PROD, version=3)
    rollout = ended(services.roll_back(COMMAND, **PROD, reason="wrong labels"))

    assert rollout.state == "succeeded"
    assert selectors.get_placement("prod", "digits").active == rows.versions["digits", 1]


def test_a_server_that_was_brought_right_afterwards_does_not_hide_the_way_back(rows: FleetRows) -> None:
    rows.rollout("digits", "prod", 1, 2)
    live(rows)
    rows.rollout("digits", "prod", 2, 2, kind="rollback", actor="conch")

    assert selectors.last_live(selectors.get_placement("prod", "digits")) is not None
    assert services.roll_back(COMMAND, **PROD, reason="slow").to_version == rows.versions["digits", 1]


def test_after_a_rollback_that_one_server_did_not_follow_the_next_goes_no_version_further(rows: FleetRows) -> None:
    rows.rollout("digits", "prod", 3, 1)
    rows.rollout("digits", "prod", 1, 2)
    live(rows)
    rollout = services.roll_back(COMMAND, **PROD, reason="slow")
    rollout.runs.filter(position=1).update(state="failed", finished_at=timezone.now(), error={"code": "load_refused"})

    assert ended(rollout).state == "failed"
    with pytest.raises(errors.NothingToRollBackTo, match="just rolled it back"):
        services.roll_back(COMMAND, **PROD, reason="slow")


def test_what_is_rolled_back_is_not_kept_hot_below_a_higher_version(rows: FleetRows) -> None:
    went_live(rows, 1, before=2)

    rollout = services.roll_back(COMMAND, **PROD, to=2, reason="wrong labels")
    (sets, *_) = [selectors.work(run.pk).sets for run in rollout.runs.all()]
    ended(rollout)

    assert sets == ({1, 2}, {2})
    assert selectors.get_placement("prod", "digits").standby is None


@pytest.mark.parametrize("to", [None, 1])
def test_two_operators_rolling_back_a_promotion_at_once_get_the_same_rollout(rows: FleetRows, to: int | None) -> None:
    rollout = promote_first_server(rows)
    seen_by_the_second = selectors.get_rollout(rollout.pk)
    services.roll_back(COMMAND, **PROD, to=to, reason="errors")

    answered = turn_back(COMMAND, seen_by_the_second, reason="errors")

    assert answered == rollout
    assert [event.verb for event in audit.events(subject=str(rollout.pk))] == ["roll_back", "promote"]


def test_a_promotion_that_came_live_meanwhile_is_left_to_a_rollback_of_its_own(rows: FleetRows) -> None:
    rollout = services.promote(COMMAND, **PROD, version=2)
    seen_by_the_operator = selectors.get_rollout(rollout.pk)
    Rollout.objects.update(state="succeeded")

    assert turn_back(COMMAND, seen_by_the_operator, reason="errors") is None


def test_rolling_back_a_moving_promotion_holds_bans_and_tells_the_time_to_restore(rows: FleetRows) -> None:
    rollout = promote_first_server(rows)

    services.roll_back(COMMAND, **PROD, reason="errors")
    rollout.runs.filter(direction="forward").update(state="cancelled")
    services.advance_rollout(rollout.pk, now=timezone.now())
    revert = Run.objects.get(direction="revert")
    asked_at = Rollout.objects.get(pk=rollout.pk).turned_at
    assert asked_at is not None
    StepRun.objects.create(
        run=revert,
        name="await_ready",
        position=1,
        state="succeeded",
        started_at=asked_at,
        finished_at=asked_at + timedelta(seconds=2),
    )

    told = ended(rollout)
    assert (told.state, told.time_to_restore_s) == ("rolled_back", 2.0)
    assert (told.turned_by, told.turned_because) == ("command line", "errors")
    assert Ban.objects.get().version == rows.versions["digits", 2]
    assert selectors.get_placement("prod", "digits").hold_reason == "errors"


def test_a_changed_server_goes_back_while_a_worker_is_still_busy_on_another(rows: FleetRows) -> None:
    rollout = promote_first_server(rows)
    busy = rollout.runs.get(position=1)
    assert busy.state == "running"

    services.roll_back(COMMAND, **PROD, reason="errors")
    services.advance_rollout(rollout.pk, now=timezone.now())

    assert [run.server.name for run in Run.objects.filter(direction="revert")] == ["prod-1"]


def test_rolling_back_what_was_aborted_holds_and_bans_it_after_all(rows: FleetRows) -> None:
    rollout = promote_first_server(rows)
    services.abort(COMMAND, rollout=rollout.pk, reason="not now")

    answered = services.roll_back(COMMAND, **PROD, reason="it is bad")

    assert answered == rollout
    assert Ban.objects.count() == 1
    assert selectors.get_placement("prod", "digits").hold_reason == "it is bad"


@pytest.mark.parametrize("kind", ["retire", "heal"])
def test_a_rollback_takes_over_from_what_else_is_moving(rows: FleetRows, kind: str) -> None:
    live(rows)
    moving = services.retire_standby(selectors.get_placement("prod", "digits"))
    assert moving is not None
    Rollout.objects.filter(pk=moving.pk).update(kind=kind)

    rollout = services.roll_back(COMMAND, **PROD, reason="slow")

    taken = selectors.get_rollout(moving.pk)
    assert (taken.state, taken.error["code"], taken.superseded_by) == ("failed", "superseded", rollout)
    assert {run.state for run in taken.runs.all()} == {"cancelled"}
    assert [run.state for run in rollout.runs.all()] == ["running", "running"]
    assert rollout.to_version == rows.versions["digits", 1]


def test_where_a_worker_is_in_the_middle_of_a_step_the_rollback_begins_right_after_it(rows: FleetRows) -> None:
    live(rows)
    moving = services.retire_standby(selectors.get_placement("prod", "digits"))
    assert moving is not None
    held = moving.runs.get(server__name="prod-2")
    services.claim_run(held.pk, owner="worker", now=timezone.now(), lease_s=15)

    rollout = services.roll_back(COMMAND, **PROD, reason="slow")
    services.advance_rollout(rollout.pk, now=timezone.now())
    before = [run.server.name for run in rollout.runs.all()]
    is_wanted = services.is_wanted(selectors.get_run(held.pk))
    services.end_run(selectors.get_run(held.pk), state=RunState.CANCELLED, now=timezone.now())
    services.advance_rollout(rollout.pk, now=timezone.now())

    assert not is_wanted
    assert before == ["prod-1"]
    assert {run.server.name: run.recipe[0] for run in rollout.runs.all()} == {"prod-1": "expose", "prod-2": "expose"}


def test_a_rollback_to_another_version_takes_over_from_a_promotion(rows: FleetRows) -> None:
    live(rows)
    passed_shadow(rows, 1)
    promotion = services.promote(COMMAND, **PROD, version=3)
    services.advance_rollout(promotion.pk, now=timezone.now())
    StepRun.objects.create(
        run=promotion.runs.get(position=0), name="shadow", position=2, state="waiting", started_at=timezone.now()
    )

    rollout = services.roll_back(COMMAND, **PROD, to=1, reason="both are bad")
    rollout.runs.update(state="succeeded", finished_at=timezone.now())
    services.advance_rollout(rollout.pk, now=timezone.now())
    services.advance_rollout(rollout.pk, now=timezone.now())

    assert rollout.to_version == rows.versions["digits", 1]
    assert Ban.objects.get().version == rows.versions["digits", 3]
    assert [run.recipe for run in rollout.runs.filter(direction="revert")] == [["clear"]]


def test_a_second_rollback_of_a_moving_one_gets_the_same_and_to_elsewhere_takes_over(rows: FleetRows) -> None:
    live(rows)
    passed_shadow(rows, 3)
    first = services.roll_back(COMMAND, **PROD, reason="slow")

    same = services.roll_back(COMMAND, **PROD, reason="slow too")
    other = services.roll_back(COMMAND, **PROD, to=3, reason="1 is worse")

    assert same == first
    assert selectors.get_rollout(first.pk).superseded_by == other
    assert {ban.version.number for ban in Ban.objects.all()} == {1, 2}


def test_rolling_back_an_unload_that_moves_turns_it_round(rows: FleetRows) -> None:
    unloading = services.unload(COMMAND, **PROD, reason="not needed")
    unloading.runs.filter(server__name="prod-1").update(state="succeeded", has_changed_server=True)

    rollout = services.roll_back(COMMAND, **PROD, reason="it was needed")
    services.advance_rollout(rollout.pk, now=timezone.now())

    assert rollout == unloading
    assert [run.recipe for run in Run.objects.filter(direction="revert")] == [["restore", "await_ready", "persist"]]
    assert not Ban.objects.exists()


def test_a_cordoned_server_goes_along_only_where_it_serves_what_is_rolled_back(rows: FleetRows) -> None:
    rows.server("prod-3", "prod")
    live(rows)
    rows.server("prod-4", "prod")
    Server.objects.filter(name__in=("prod-3", "prod-4")).update(cordoned_at=timezone.now())

    rollout = services.roll_back(COMMAND, **PROD, reason="slow")

    assert sorted(run.server.name for run in rollout.runs.all()) == ["prod-1", "prod-2", "prod-3"]
    assert rollout.plan["left_out"] == ["prod-4"]


def test_a_failed_gate_rolls_back_holds_and_bans_by_itself(rows: FleetRows) -> None:
    rollout = promote_first_server(rows)
    gate = errors.GoldenMismatch("p99 is 91 ms, the gate is 60 ms")

    has_turned = services.turn_back_by_gate(rollout.pk, failed=gate)

    turned = selectors.get_rollout(rollout.pk)
    assert has_turned
    assert (turned.state, turned.turned_by, turned.error["code"]) == ("reverting", "conch", "golden_mismatch")
    assert Ban.objects.get().reason == "p99 is 91 ms, the gate is 60 ms"
    assert selectors.get_placement("prod", "digits").held_by == "conch"
    assert not services.turn_back_by_gate(_ended(turned).pk, failed=gate)


def _ended(rollout: Rollout) -> Rollout:
    Rollout.objects.filter(pk=rollout.pk).update(state="rolled_back")
    return rollout
