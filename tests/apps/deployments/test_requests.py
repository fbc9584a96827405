"""What is asked for, and what is refused with which words."""

import threading
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from apps.access.services import actor_of, add_user, grant_role
from apps.audit import selectors as audit
from apps.common.actor import COMMAND, Actor
from apps.common.errors import ControlPlaneError, NotAllowed
from apps.deployments import errors, selectors, services
from apps.deployments.models import Placement, Rollout, Run, StepRun
from apps.fleet.errors import ServerUnknown
from apps.fleet.models import Observation, ObservedVersion
from tests.factories.fleets import FleetRows

PROD: dict[str, Any] = {"environment": "prod", "model": "digits"}


def test_a_promotion_begins_with_one_queued_run_per_server_and_one_event(rows: FleetRows) -> None:
    rollout = services.promote(COMMAND, **PROD, version=2, reason="better")

    runs = list(rollout.runs.order_by("position"))
    assert [(run.server.name, run.state) for run in runs] == [("prod-1", "queued"), ("prod-2", "queued")]
    (event,) = audit.events(subject=str(rollout.pk))
    assert (event.verb, event.reason, event.detail["from"], event.detail["to"]) == ("promote", "better", 1, 2)


def test_two_operators_promoting_at_once_get_one_rollout_and_one_refusal(rows: FleetRows) -> None:
    barrier = threading.Barrier(2)
    outcomes: list[Rollout | ControlPlaneError] = []

    def promote(version: int) -> None:
        barrier.wait()
        try:
            outcomes.append(services.promote(COMMAND, **PROD, version=version))
        except ControlPlaneError as error:
            outcomes.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=promote, args=(version,)) for version in (2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    started = [each for each in outcomes if isinstance(each, Rollout)]
    refused = [each for each in outcomes if isinstance(each, errors.RolloutActive)]
    assert (len(started), len(refused)) == (1, 1)
    assert refused[0].facts["rollout"] == started[0].pk
    assert Run.objects.count() == 2


@pytest.mark.parametrize(("state", "way_out"), [("unapproved", "approved"), ("paused", "resume"), ("running", "Wait")])
def test_the_refusal_of_a_second_promotion_says_how_the_first_goes_on(
    rows: FleetRows, state: str, way_out: str
) -> None:
    rows.rollout("digits", "prod", 1, 2, state=state)

    with pytest.raises(errors.RolloutActive) as refused:
        services.promote(COMMAND, **PROD, version=3)

    assert way_out in refused.value.hint


def test_the_rollout_moves_one_server_after_another(rows: FleetRows) -> None:
    rollout = services.promote(COMMAND, **PROD, version=2)

    services.advance_rollout(rollout.pk, now=timezone.now())
    services.advance_rollout(rollout.pk, now=timezone.now())

    states = list(rollout.runs.order_by("position").values_list("state", flat=True))
    assert states == ["running", "queued"]


def test_a_server_that_is_down_is_named_and_can_be_left_out(rows: FleetRows) -> None:
    Observation.objects.filter(server__name="prod-2").update(is_reachable=False)

    with pytest.raises(errors.ServersDown, match="prod-2") as refused:
        services.promote(COMMAND, **PROD, version=2)
    rollout = services.promote(COMMAND, **PROD, version=2, skip=["prod-2"])

    assert refused.value.facts["servers"] == ["prod-2"]
    assert [run.server.name for run in rollout.runs.all()] == ["prod-1"]


def test_a_server_to_leave_out_must_be_one_of_the_environment(rows: FleetRows) -> None:
    with pytest.raises(ServerUnknown, match="prod-7"):
        services.promote(COMMAND, **PROD, version=2, skip=["prod-7"])


def test_a_rollback_leaves_out_a_server_that_is_down_and_says_so(rows: FleetRows) -> None:
    _was_live(rows, 1)
    Placement.objects.update(active=rows.versions["digits", 2], standby=rows.versions["digits", 1])
    Observation.objects.filter(server__name="prod-2").update(is_reachable=False)

    rollout = services.roll_back(COMMAND, **PROD, reason="slow")

    assert [run.server.name for run in rollout.runs.all()] == ["prod-1"]
    assert rollout.plan["left_out"] == ["prod-2"]


def test_a_rollback_is_tried_on_every_server_when_none_can_be_reached(rows: FleetRows) -> None:
    _was_live(rows, 1)
    Placement.objects.update(active=rows.versions["digits", 2], standby=rows.versions["digits", 1])
    Observation.objects.update(is_reachable=False)

    rollout = services.roll_back(COMMAND, **PROD, reason="slow")

    assert rollout.runs.count() == 2


def test_a_refused_first_promotion_leaves_no_placement(rows: FleetRows) -> None:
    rows.model("other")
    rows.version("other", 1)
    Observation.objects.update(is_reachable=False)

    with pytest.raises(errors.ServersDown):
        services.promote(COMMAND, environment="prod", model="other", version=1)

    assert not Placement.objects.filter(model__name="other").exists()


def test_a_server_is_not_retired_while_a_rollout_changes_it(rows: FleetRows) -> None:
    services.promote(COMMAND, **PROD, version=2)

    with pytest.raises(errors.ServerMoving, match="prod-1"):
        services.retire_server(COMMAND, name="prod-1", reason="old")


def test_without_a_server_nothing_begins(rows: FleetRows) -> None:
    with pytest.raises(errors.NoServers, match="prod"):
        services.promote(COMMAND, **PROD, version=2, skip=["prod-1", "prod-2"])

    assert not Rollout.objects.exists()


def test_a_version_that_is_not_ready_is_refused_with_the_cause(rows: FleetRows) -> None:
    rows.version("digits", 9, state="rejected", error={"message": "no config.pbtxt in the archive"})

    with pytest.raises(errors.VersionNotReady, match=r"no config\.pbtxt"):
        services.promote(COMMAND, **PROD, version=9)


def test_rolling_back_asks_why(rows: FleetRows) -> None:
    with pytest.raises(errors.ReasonMissing):
        services.roll_back(COMMAND, **PROD, reason="  ")


def test_there_is_nothing_to_roll_back_to_before_a_second_version_was_live(rows: FleetRows) -> None:
    with pytest.raises(errors.NothingToRollBackTo, match="digits in prod"):
        services.roll_back(COMMAND, **PROD, reason="slow")


def test_a_second_rollback_does_not_go_one_version_further_by_itself(rows: FleetRows) -> None:
    placement, versions = rows.placements["digits", "prod"], rows.versions
    for kind, old, new in (("promote", 1, 2), ("promote", 2, 3), ("rollback", 3, 2)):
        Rollout.objects.create(
            placement=placement,
            kind=kind,
            state="succeeded",
            from_version=versions["digits", old],
            to_version=versions["digits", new],
            actor="ci",
            actor_kind="token",
        )
    Placement.objects.update(active=versions["digits", 2])

    with pytest.raises(errors.NothingToRollBackTo, match="by ci has just rolled it back"):
        services.roll_back(COMMAND, **PROD, reason="slow")


def test_a_version_that_never_passed_a_shadow_cannot_be_rolled_back_to(rows: FleetRows) -> None:
    with pytest.raises(errors.NeverLive, match="version 3"):
        services.roll_back(COMMAND, **PROD, to=3, reason="slow")


def test_a_model_that_was_never_placed_is_unknown_there(rows: FleetRows) -> None:
    rows.model("other")

    with pytest.raises(errors.PlacementUnknown, match="other"):
        services.roll_back(COMMAND, environment="prod", model="other", reason="slow")


def test_unloading_needs_something_live(rows: FleetRows) -> None:
    Placement.objects.update(active=None)

    with pytest.raises(errors.NothingPlaced):
        services.unload(COMMAND, **PROD, reason="not needed")


def test_a_rollback_starts_all_its_runs_at_once_and_hot_where_the_standby_stands_untouched(rows: FleetRows) -> None:
    _was_live(rows, 1)
    versions = rows.versions
    Placement.objects.update(active=versions["digits", 2], standby=versions["digits", 1])
    ObservedVersion.objects.filter(server__name="prod-2", version=1).update(seen_stamp_ns=2)

    rollout = services.roll_back(COMMAND, **PROD, reason="slow")

    runs = {run.server.name: run for run in rollout.runs.all()}
    assert {run.state for run in runs.values()} == {"running"}
    assert runs["prod-1"].recipe == ["expose", "await_ready"]
    assert runs["prod-2"].recipe[0] == "preflight"
    assert rollout.plan["hot"] == ["prod-1"]


def test_a_viewer_may_not_promote(rows: FleetRows) -> None:
    viewer = _person("viewer")

    with pytest.raises(NotAllowed):
        services.promote(viewer, **PROD, version=2)


def test_aborting_needs_a_reason_and_a_promotion_that_moves(rows: FleetRows) -> None:
    rollout = services.promote(COMMAND, **PROD, version=2)

    with pytest.raises(errors.ReasonMissing):
        services.abort(COMMAND, rollout=rollout.pk, reason="")
    services.abort(COMMAND, rollout=rollout.pk, reason="wrong build")
    services.advance_rollout(rollout.pk, now=timezone.now())
    with pytest.raises(errors.RolloutNotAbortable):
        services.abort(COMMAND, rollout=rollout.pk, reason="again")

    assert selectors.get_rollout(rollout.pk).state == "rolled_back"


def test_rolling_back_an_unload_brings_back_what_was_unloaded(rows: FleetRows) -> None:
    _was_live(rows, 1)
    unloading = services.unload(COMMAND, **PROD, reason="not needed")
    unloading.runs.update(state="succeeded")
    Rollout.objects.filter(pk=unloading.pk).update(state="succeeded")
    Placement.objects.update(active=None)

    rollout = services.roll_back(COMMAND, **PROD, reason="it was needed")

    assert rollout.to_version == rows.versions["digits", 1]


@pytest.mark.parametrize(("code", "reverts"), [("golden_mismatch", 2), ("server_unreachable", 0)])
def test_a_rollback_that_succeeds_nowhere_leaves_nothing_behind_where_it_can(
    rows: FleetRows, code: str, reverts: int
) -> None:
    _was_live(rows, 2)
    rollout = services.roll_back(COMMAND, **PROD, to=2, reason="slow")
    rollout.runs.update(state="failed", has_changed_server=True, error={"code": code})

    services.advance_rollout(rollout.pk, now=timezone.now())
    made = rollout.runs.filter(direction="revert")
    first_steps = [run.recipe[0] for run in made]
    made.update(state="succeeded")
    services.advance_rollout(rollout.pk, now=timezone.now())

    ended = selectors.get_rollout(rollout.pk)
    assert first_steps == ["restore"] * reverts
    assert (ended.state, ended.error["code"]) == ("failed", code)
    assert ended.placement.active == rows.versions["digits", 1]


def test_an_unknown_rollout_is_named(db: None) -> None:
    with pytest.raises(errors.RolloutUnknown, match="4711"):
        selectors.get_rollout(4711)


def test_a_live_version_cannot_be_archived_and_another_can(rows: FleetRows) -> None:
    with pytest.raises(errors.VersionInUse, match="digits in prod"):
        services.archive_version(COMMAND, model="digits", version=1)

    assert services.archive_version(COMMAND, model="digits", version=3).state == "archived"


def _was_live(rows: FleetRows, number: int) -> None:
    """A rollout in which a version passed its shadow."""
    rollout = Rollout.objects.create(
        placement=rows.placements["digits", "prod"],
        kind="promote",
        state="succeeded",
        to_version=rows.versions["digits", number],
        actor="ci",
        actor_kind="token",
    )
    run = Run.objects.create(
        rollout=rollout, server=rows.servers["prod-1"], model=rows.models["digits"], state="succeeded"
    )
    StepRun.objects.create(run=run, name="shadow", position=2, state="succeeded", started_at=timezone.now())


def _person(role: str) -> Actor:
    user = add_user(COMMAND, username="someone", password="correct horse battery")
    grant_role(COMMAND, username="someone", role=role)
    return actor_of(user, door="api", address="127.0.0.1")
