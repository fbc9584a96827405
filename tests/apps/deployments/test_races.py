"""Two who act at once: whoever is second sees what the first has done."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.audit import selectors as audit
from apps.common.actor import COMMAND
from apps.deployments import errors, selectors, services
from apps.deployments.models import Placement, Rollout, Run
from apps.deployments.services.healing import heal
from apps.fleet import selectors as fleet
from apps.fleet.models import ObservedVersion
from tests.factories.fleets import FleetRows
from tests.factories.histories import went_live
from tests.factories.releases import advance as advance_all
from tests.factories.releases import begin, released
from tests.fixtures.two_at_once import in_thread, wait_until_blocked, while_waiting

PROD: dict[str, Any] = {"environment": "prod", "model": "digits"}
OVERLAY = {"parameters": {"A": {"string_value": "b"}}}
pytestmark = pytest.mark.skipif(
    connection.vendor == "sqlite", reason="SQLite has one writer at a time: nobody waits in the middle"
)


def promote() -> Any:
    return services.promote(COMMAND, **PROD, version=2)


def advance(rollout: Any) -> None:
    services.advance_rollout(rollout.pk, now=timezone.now())


def retire() -> Any:
    return services.retire_server(COMMAND, name="prod-2", reason="disk is broken")


def test_a_rollback_takes_over_from_what_begins_while_it_looks(rows: FleetRows) -> None:
    went_live(rows, 2, before=1)
    seen = selectors.get_placement("prod", "digits")

    rollout = while_waiting(
        lambda: heal(seen, [rows.servers["prod-1"]], reason="missing"),
        lambda: services.roll_back(COMMAND, **PROD, reason="slow"),
    )

    (healing,) = rollout.superseded.all()
    assert (rollout.kind, healing.kind, healing.state) == ("rollback", "heal", "failed")


def test_a_server_that_a_rollout_has_just_begun_on_is_not_retired(rows: FleetRows) -> None:
    with pytest.raises(errors.ServerMoving, match="prod-2 is being changed"):
        while_waiting(promote, retire)

    assert fleet.get_server("prod-2").state == "active"


def test_what_serves_is_not_written_down_on_a_server_that_has_just_been_retired(rows: FleetRows) -> None:
    rollout = promote()
    for _ in range(2):
        advance(rollout)
        rollout.runs.filter(state="running").update(state="succeeded", finished_at=timezone.now())

    while_waiting(
        lambda: services.retire_server(COMMAND, name="prod-1", reason="disk is broken"), lambda: advance(rollout)
    )
    advance(rollout)

    assert [run.server.name for run in rollout.runs.filter(direction="settle")] == ["prod-2"]
    assert selectors.state_of(rollout.pk) == "running"


def test_a_rollout_does_not_begin_on_a_server_that_has_just_been_retired(rows: FleetRows) -> None:
    with pytest.raises(errors.PlacementChanged, match="prod-2 was retired just now"):
        while_waiting(retire, promote)

    assert selectors.active_rollout(rows.placements["digits", "prod"]) is None


def test_of_two_promotions_that_let_go_of_a_hold_the_second_is_told_of_the_first(rows: FleetRows) -> None:
    services.hold(COMMAND, **PROD, reason="wait for the audit")

    def let_go() -> Any:
        return services.promote(COMMAND, **PROD, version=2, confirm=["hold"])

    with pytest.raises(errors.RolloutActive, match="promote of digits in prod"):
        while_waiting(let_go, let_go)


def test_an_overlay_does_not_wait_for_a_version_that_begins_to_come_at_the_same_time(rows: FleetRows) -> None:
    ObservedVersion.objects.filter(model="digits").delete()
    Placement.objects.filter(pk=rows.placements["digits", "prod"].pk).update(active=None, standby=None)

    with pytest.raises(errors.RolloutActive, match="promote of digits in prod"):
        while_waiting(
            promote,
            lambda: services.set_overlay(COMMAND, **PROD, document=OVERLAY, reason="tune it"),
        )

    assert selectors.get_placement("prod", "digits").overlay is None


@pytest.fixture
def gone_back(pair: FleetRows) -> Any:
    """A release that was aborted: every part has ended."""
    release = begin()
    advance_all(release)
    services.abort_release(COMMAND, release=release.pk, reason="not now")
    Run.objects.filter(rollout__release=release, state="running").update(state="cancelled")
    advance_all(release)
    return lambda: services.roll_back_release(COMMAND, release=release.pk, reason="errors")


def test_a_release_that_has_gone_back_is_held_and_banned_once_by_two_who_ask_at_once(gone_back: Any) -> None:
    with pytest.raises(errors.ReleaseNotLive, match="is held or banned as asked"):
        while_waiting(gone_back, gone_back)

    rolled_back = [event for event in audit.events(verb="roll_back") if event.subject_kind == "rollout"]
    assert sorted(event.model for event in rolled_back) == ["digits", "letters"]


def test_what_has_just_begun_to_move_is_not_held_by_a_release_that_went_back_before(gone_back: Any) -> None:
    while_waiting(lambda: services.promote(COMMAND, **PROD, version=3), gone_back)

    assert [one.model.name for one in selectors.placements() if one.held_at is not None] == ["letters"]


def test_a_release_of_which_a_part_has_gone_back_locks_its_placements_in_the_order_of_all(pair: FleetRows) -> None:
    """Two releases that share models, one live where the other has gone back, would wait for each other."""
    release = released(pair)
    digits, letters = (pair.placements[name, "prod"].pk for name in ("digits", "letters"))
    Rollout.objects.filter(release=release, placement=digits).update(state="rolled_back")
    Placement.objects.filter(pk=digits).update(active=pair.versions["digits", 1])

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Placement.objects.select_for_update().get(pk=digits)
            asked = pool.submit(in_thread, lambda: services.roll_back_release(COMMAND, release=release.pk, reason="x"))
            wait_until_blocked()
            Placement.objects.select_for_update().get(pk=letters)
        backs = asked.result(timeout=10).rollouts.filter(kind="rollback")

    assert [back.placement_id for back in backs] == [letters]
