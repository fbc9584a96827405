"""Changing the configuration of one environment: forward as a promotion goes, back as a rollback goes."""

from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.common import dispatch
from apps.common.actor import COMMAND
from apps.deployments import errors, selectors, services
from apps.deployments.models import Overlay, Placement, Rollout
from apps.fleet.models import Observation
from tests.apps.api.test_overlays import BATCHING, CONFIG
from tests.apps.deployments.test_controls import frozen_today, person
from tests.factories.fleets import FleetRows
from tests.factories.histories import passed_shadow

PROD: dict[str, Any] = {"environment": "prod", "model": "digits"}


@pytest.fixture
def overlaid(rows: FleetRows) -> FleetRows:
    """Version 1 runs under an overlay that is no good; it has passed as it was uploaded."""
    version, placement = rows.versions["digits", 1], rows.placements["digits", "prod"]
    version.config = CONFIG
    version.save()
    passed_shadow(rows, 1)
    bad = Overlay.objects.create(placement=placement, number=1, document=BATCHING)
    Placement.objects.filter(pk=placement.pk).update(overlay=bad)
    return rows


def put_back() -> Rollout:
    setting = services.restore_overlay(COMMAND, **PROD, reason="the queue is longer than before")
    assert setting.rollout is not None
    return setting.rollout


def ended(rollout: Rollout) -> Rollout:
    for _ in range(3):
        rollout.runs.filter(state__in=("queued", "running")).update(state="succeeded", finished_at=timezone.now())
        services.advance_rollout(rollout.pk, now=timezone.now())
    return selectors.get_rollout(rollout.pk)


def test_an_overlay_goes_back_on_every_server_at_once_unapproved_and_in_a_freeze(overlaid: FleetRows) -> None:
    policy = {"approval": "another", "freeze": [frozen_today()], "waves": [1, "100%"], "bake_s": 600}
    services.change_policy(COMMAND, environment="prod", document=policy)

    rollout = put_back()

    assert [(run.state, run.wave) for run in rollout.runs.all()] == [("running", 0), ("running", 0)]
    assert {selectors.work(run.pk).at_once for run in rollout.runs.all()} == {2}
    assert {tuple(run.recipe) for run in rollout.runs.all()} == {("preflight", "reconfigure", "await_ready", "verify")}
    assert ended(rollout).state == "succeeded"
    assert selectors.get_placement("prod", "digits").overlay == rollout.to_overlay


def test_one_that_goes_back_stands_behind_nothing(overlaid: FleetRows) -> None:
    run = put_back().runs.earliest("pk")
    now = timezone.now()
    services.claim_run(run.pk, owner="me", now=now, lease_s=30)

    with transaction.atomic():
        services.release_run(run, owner="me", due_at=now, waiting_for="the server", after_s=1)
        send = connection.run_on_commit[0][1]

    assert isinstance(send, partial)
    assert send.args[2] == dispatch.AT_ONCE


def test_a_hold_neither_stops_it_nor_is_let_go_of(overlaid: FleetRows) -> None:
    services.hold(COMMAND, **PROD, reason="incident")

    ended(put_back())

    assert selectors.get_placement("prod", "digits").hold_reason == "incident"


def test_a_server_that_is_down_is_left_out_of_it_and_named(overlaid: FleetRows) -> None:
    Observation.objects.filter(server__name="prod-2").update(is_reachable=False)

    rollout = put_back()

    assert ([run.server.name for run in rollout.runs.all()], rollout.plan["left_out"]) == (["prod-1"], ["prod-2"])


def test_a_server_on_which_it_fails_holds_up_no_other_and_nothing_is_turned_round(overlaid: FleetRows) -> None:
    rollout = put_back()
    rollout.runs.filter(server__name="prod-2").update(state="failed", error={"code": "load_refused", "message": "no"})

    told = ended(rollout)

    assert (told.state, told.error["servers"]) == ("failed", ["prod-2"])
    assert selectors.get_placement("prod", "digits").overlay == rollout.to_overlay


def test_what_never_passed_so_is_tried_aside_even_on_the_way_back(overlaid: FleetRows) -> None:
    document = {"parameters": {"A": {"string_value": "b"}}}
    Overlay.objects.create(placement=overlaid.placements["digits", "prod"], number=2, document=document)

    setting = services.restore_overlay(COMMAND, **PROD, number=2, reason="the one before")

    assert setting.rollout is not None
    assert "no_shadow" not in setting.rollout.plan


def test_what_goes_back_can_only_be_left_to_end(overlaid: FleetRows) -> None:
    with pytest.raises(errors.RolloutNotPausable):
        services.pause(COMMAND, rollout=put_back().pk, reason="wait")


def test_a_frozen_environment_takes_no_new_overlay(overlaid: FleetRows) -> None:
    services.change_policy(COMMAND, environment="prod", document={"freeze": [frozen_today()]})

    with pytest.raises(errors.PromotionsFrozen, match="release week"):
        services.set_overlay(COMMAND, **PROD, document={}, reason="tune it")

    assert not Rollout.objects.filter(kind="reconfigure").exists()


def test_nor_does_one_that_was_asked_for_before_the_freeze_begin_in_it(overlaid: FleetRows) -> None:
    services.change_policy(COMMAND, environment="prod", document={"approval": "another"})
    setting = services.set_overlay(COMMAND, **PROD, document={}, reason="tune it")
    services.change_policy(COMMAND, environment="prod", document={"freeze": [frozen_today()]})

    assert setting.rollout is not None
    with pytest.raises(errors.PromotionsFrozen, match="release week"):
        services.approve(person("bob"), rollout=setting.rollout.pk, reason="fine")
