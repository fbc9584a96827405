"""What was live when, from the history that every move of the pointers leaves."""

from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import errors, selectors, services
from apps.deployments.models import Placement, PlacementChange, Rollout
from tests.apps.deployments.test_rolling_back import live
from tests.factories.fleets import FleetRows
from tests.factories.histories import passed_shadow

PROD: dict[str, Any] = {"environment": "prod", "model": "digits"}


def ended(rollout: Rollout) -> Rollout:
    """All its runs succeed, as a worker's would."""
    for _ in range(6):
        for run in rollout.runs.filter(state="running", direction="forward"):
            services.note_change(selectors.get_run(run.pk))
        rollout.runs.filter(state="running").update(state="succeeded", finished_at=timezone.now())
        services.advance_rollout(rollout.pk, now=timezone.now())
    return selectors.get_rollout(rollout.pk)


def live_at(at: datetime) -> list[tuple[int | None, int | None, str]]:
    """Active, coming and what of the one placement at a moment."""
    return [
        (
            change.active.number if change.active else None,
            change.coming.number if change.coming else None,
            change.what,
        )
        for change in map(selectors.change_of, selectors.placements_at(at))
    ]


def test_time_travel_goes_through_a_promotion_a_rollback_and_one_by_a_gate(rows: FleetRows) -> None:
    began = timezone.now()
    passed_shadow(rows, 1)
    ended(services.promote(COMMAND, **PROD, version=2, reason="better"))
    promoted = timezone.now()
    ended(services.roll_back(COMMAND, **PROD, to=1, reason="slow"))
    rolled_back = timezone.now()
    third = services.promote(COMMAND, **PROD, version=3, confirm=["hold"])
    services.advance_rollout(third.pk, now=timezone.now())
    services.note_change(selectors.get_run(third.runs.get(position=0).pk))
    moving = timezone.now()
    services.turn_back_by_gate(third.pk, failed=errors.GoldenMismatch("p99 is 91 ms"))
    ended(third)

    assert live_at(began) == [(None, None, "nothing")]
    assert live_at(promoted) == [(2, None, "done")]
    assert live_at(rolled_back) == [(1, None, "done")]
    assert live_at(moving) == [(1, 3, "begun")]
    assert live_at(timezone.now()) == [(1, None, "put_back")]
    last = selectors.change_of(selectors.placements_at(timezone.now()).get())
    assert (last.actor, last.actor_kind, last.reason) == ("conch", "system", "p99 is 91 ms")


def test_a_moment_is_two_queries_however_many_changes_there_are(rows: FleetRows) -> None:
    placement = rows.placements["digits", "prod"]
    now = timezone.now()
    for ago in range(50):
        rollout = rows.rollout("digits", "prod", 1, 2)
        PlacementChange.objects.create(
            placement=placement,
            at=now - timedelta(hours=ago),
            what="done",
            active=rows.versions["digits", 1 + ago % 2],
            rollout=rollout,
            actor="ci",
            actor_kind="token",
        )

    with CaptureQueriesContext(connection) as queries:
        (change,) = map(selectors.change_of, selectors.placements_at(now - timedelta(hours=6, minutes=1)))
        found = (change.active, change.differs, change.placement.environment.name, change.placement.model.name)

    assert len(queries) == 2
    assert found == (rows.versions["digits", 2], True, "prod", "digits")


def test_a_change_of_overlay_is_in_the_history_and_differs_until_it_is_undone(rows: FleetRows) -> None:
    ended(services.promote(COMMAND, **PROD, version=2))
    promoted = timezone.now()
    asked: dict[str, Any] = {**PROD, "document": {"instance_group": [{"count": 2}]}, "reason": "load"}
    setting = services.set_overlay(COMMAND, **asked)
    assert setting.rollout is not None
    ended(setting.rollout)

    change = PlacementChange.objects.get(rollout=setting.rollout)
    (then,) = map(selectors.change_of, selectors.placements_at(promoted))
    (now,) = map(selectors.change_of, selectors.placements_at(timezone.now()))
    assert (change.active, change.overlay, change.reason) == (rows.versions["digits", 2], setting.overlay, "load")
    assert (then.differs_in, now.differs_in) == (("overlay",), ())


def test_a_placement_that_was_made_since_is_told_as_nothing_then(rows: FleetRows) -> None:
    before = timezone.now()
    ended(services.promote(COMMAND, **PROD, version=2))

    (then,) = map(selectors.change_of, selectors.placements_at(before))

    assert (then.what, then.active) == ("nothing", None)
    assert then.placement.active == rows.versions["digits", 2]
    assert "active" in then.differs_in


def test_letting_go_of_a_standby_is_in_the_history(rows: FleetRows) -> None:
    Placement.objects.update(active=rows.versions["digits", 2], standby=rows.versions["digits", 1])
    retirement = services.retire_standby(selectors.get_placement("prod", "digits"))
    assert retirement is not None

    ended(retirement)

    change = PlacementChange.objects.get()
    assert (change.active, change.standby, change.actor) == (rows.versions["digits", 2], None, "conch")


def test_what_happened_before_there_was_a_history_is_read_from_the_rollouts(rows: FleetRows) -> None:
    moments = [datetime(2026, 3, day, tzinfo=UTC) for day in (1, 2, 3, 4)]
    rows.rollout("digits", "prod", None, 1, finished_at=moments[0], reason="first")
    rows.rollout("digits", "prod", 1, 2, finished_at=moments[1], state="rolled_back")
    half = rows.rollout("digits", "prod", 1, 3, finished_at=moments[2], kind="rollback", state="failed")
    half.runs.filter(position=0).update(state="succeeded")
    rows.rollout("digits", "prod", 3, 2, finished_at=moments[3])
    Placement.objects.update(active=rows.versions["digits", 2], standby=rows.versions["digits", 1])

    import_module("apps.deployments.migrations.0004_history").keep_what_was_live(apps, None)

    kept = [(change.at, change.active, change.standby) for change in PlacementChange.objects.order_by("at")]
    versions = rows.versions
    assert kept == [
        (moments[0], versions["digits", 1], None),
        (moments[2], versions["digits", 3], None),
        (moments[3], versions["digits", 2], versions["digits", 1]),
    ]


@pytest.mark.parametrize("limit", [1, 5])
def test_the_moments_of_a_model_are_its_last_changes_in_order(rows: FleetRows, limit: int) -> None:
    passed_shadow(rows, 1)
    ended(services.promote(COMMAND, **PROD, version=2))
    ended(services.roll_back(COMMAND, **PROD, to=1, reason="slow"))
    every = list(PlacementChange.objects.order_by("at", "pk").values_list("at", flat=True))

    assert selectors.change_moments("digits", limit=limit) == every[-limit:]


def test_history_tells_what_was_live_and_what_was_coming_and_is_never_rewritten(rows: FleetRows) -> None:
    rollout = services.promote(COMMAND, **PROD, version=2, reason="better")
    run = rollout.runs.get(position=0)
    services.note_change(run)
    services.note_change(run)
    services.roll_back(COMMAND, **PROD, reason="errors")
    ended(rollout)

    begun, back = PlacementChange.objects.order_by("pk")
    versions = rows.versions
    assert (begun.what, begun.active, begun.coming) == ("begun", versions["digits", 1], versions["digits", 2])
    assert (back.what, back.active, back.coming) == ("put_back", versions["digits", 1], None)
    assert (begun.reason, back.reason, back.actor) == ("better", "errors", "command line")
    with pytest.raises(errors.HistoryIsAppendOnly):
        back.save()


def test_a_rollback_that_ended_is_in_the_history(rows: FleetRows) -> None:
    live(rows)
    rollout = ended(services.roll_back(COMMAND, **PROD, reason="slow"))

    change = PlacementChange.objects.get(rollout=rollout)
    assert (change.what, change.active, change.reason) == ("done", rows.versions["digits", 1], "slow")
    assert Placement.objects.get().active == rows.versions["digits", 1]
