"""Changing what is live from the console."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.audit.models import Event
from apps.deployments.models import Rollout, WarmupSchedule
from apps.fleet.models import Observation
from tests.factories.fleets import SIGNATURE, FleetRows

PROMOTE, ROLL_BACK = "/models/digits/in/prod/promote/", "/models/digits/in/staging/roll-back/"


def promotion(**changes: Any) -> dict[str, Any]:
    """What the promote form sends."""
    return {"environment": "prod", "version": "2", "reason": "better"} | changes


def test_promoting_starts_a_rollout_and_goes_to_its_page(rows: FleetRows, operator: Client) -> None:
    answer = operator.post(PROMOTE, promotion())

    rollout = Rollout.objects.latest("pk")
    assert answer.headers["Location"] == f"/rollouts/{rollout.pk}/"
    assert (rollout.kind, rollout.to_version, rollout.reason) == ("promote", rows.versions["digits", 2], "better")


def test_who_promoted_through_which_door_is_in_the_audit(rows: FleetRows, operator: Client) -> None:
    operator.post(PROMOTE, promotion(), REMOTE_ADDR="10.1.2.3")

    event = Event.objects.get(verb="promote")
    assert (event.actor, event.door, event.address, event.reason) == ("operator-all", "console", "10.1.2.3", "better")


def test_the_promote_form_says_in_numbers_what_will_happen(rows: FleetRows, operator: Client) -> None:
    page = operator.get(PROMOTE).content.decode()

    assert "prod: 2 servers (prod-1, prod-2), now on 1." in page


def test_a_refused_promotion_keeps_what_was_typed_and_says_why(rows: FleetRows, operator: Client) -> None:
    answer = operator.post(PROMOTE, promotion(version="1", reason="typed with care"))

    page = answer.content.decode()
    assert answer.status_code == 409
    assert "already_active" in page
    assert "typed with care" in page


def test_a_second_promotion_is_told_about_the_first(rows: FleetRows, operator: Client) -> None:
    operator.post(PROMOTE, promotion())

    answer = operator.post(PROMOTE, promotion())

    assert answer.status_code == 409
    assert "by operator-all" in answer.content.decode()
    assert Rollout.objects.filter(state="queued").count() == 1


def test_a_changed_interface_asks_with_a_box(rows: FleetRows, operator: Client) -> None:
    change_interface(rows)

    answer = operator.post(PROMOTE, promotion())

    page = answer.content.decode()
    assert answer.status_code == 409
    assert 'name="confirm_interface"' in page
    assert "input image is new" in page
    assert not Rollout.objects.filter(state="queued").exists()


def test_ticking_the_box_promotes_all_the_same(rows: FleetRows, operator: Client) -> None:
    change_interface(rows)

    operator.post(PROMOTE, promotion(confirm_interface="on"))

    assert Rollout.objects.get(state="queued").plan["confirmed"] == ["interface"]


def test_an_unticked_box_asks_again(rows: FleetRows, operator: Client) -> None:
    change_interface(rows)

    answer = operator.post(PROMOTE, promotion(confirm_interface=""))

    assert answer.status_code == 409


def change_interface(rows: FleetRows) -> None:
    """Version 2 takes another input than version 1."""
    version = rows.versions["digits", 2]
    version.signature = SIGNATURE | {"inputs": [{"name": "image", "datatype": "FP32", "shape": [8, 8]}]}
    version.save()


def test_a_server_that_is_down_can_be_left_out_on_purpose(rows: FleetRows, operator: Client) -> None:
    Observation.objects.filter(server=rows.servers["prod-2"]).update(is_reachable=False)
    refused = operator.post(PROMOTE, promotion())

    operator.post(PROMOTE, promotion(**{"skip_prod-2": "on"}))

    assert "Leave out prod-2" in refused.content.decode()
    assert [run.server.name for run in Rollout.objects.get(state="queued").runs.all()] == ["prod-1"]


def test_unloading_says_whose_requests_fail(rows: FleetRows, operator: Client) -> None:
    page = operator.get("/models/digits/in/prod/unload/").content.decode()

    assert "Unload digits from 2 prod servers" in page
    assert "Every request for digits in prod fails from then on." in page


def test_unloading_an_ensemble_says_which_members_stay_loaded(rows: FleetRows, operator: Client) -> None:
    rows.model("ens")
    step = [{"model_name": "digits", "model_version": "-1"}]
    rows.version("ens", 1, config={"platform": "ensemble", "ensemble_scheduling": {"step": step}})
    rows.placed("ens", "prod", 1)

    asked = operator.get("/models/ens/in/prod/unload/").content.decode()
    answer = operator.post("/models/ens/in/prod/unload/", {"reason": "retired"})

    assert "digits stay loaded and serve on" in asked
    assert "stays loaded: digits" in operator.get(answer.headers["Location"]).content.decode()


def test_unloading_starts_a_rollout_to_nothing(rows: FleetRows, operator: Client) -> None:
    operator.post("/models/digits/in/prod/unload/", {"reason": "retired model"})

    rollout = Rollout.objects.latest("pk")
    assert (rollout.kind, rollout.to_version) == ("unload", None)


def test_aborting_a_rollout_puts_it_back(rows: FleetRows, operator: Client) -> None:
    moving = rows.rollout("digits", "prod", 1, 2, state="running")

    answer = operator.post(f"/rollouts/{moving.pk}/abort/", {"reason": "the chart looks bad"})

    moving.refresh_from_db()
    assert answer.status_code == 302
    assert moving.state == "reverting"


def test_aborting_what_has_ended_is_refused_in_words(rows: FleetRows, operator: Client) -> None:
    ended = rows.rollout("digits", "prod", 1, 2)

    answer = operator.post(f"/rollouts/{ended.pk}/abort/", {"reason": "too late"})

    assert answer.status_code == 409
    assert "cannot be aborted" in answer.content.decode()


def test_a_warmup_schedule_is_kept(rows: FleetRows, operator: Client) -> None:
    operator.post("/models/digits/in/prod/warm-up/", {"minutes": "10", "is_enabled": "on"})

    assert WarmupSchedule.objects.get().every_s == 600


@pytest.mark.parametrize(
    ("where", "sent"),
    [
        (PROMOTE, promotion()),
        (ROLL_BACK, {"to": "1", "reason": "x"}),
        ("/models/digits/in/prod/unload/", {"reason": "x"}),
        ("/models/digits/in/prod/warm-up/", {"minutes": "10"}),
    ],
)
def test_a_viewer_changes_nothing(where: str, sent: dict[str, str], rows: FleetRows, viewer: Client) -> None:
    before = Rollout.objects.count()

    answer = viewer.post(where, sent)

    assert answer.status_code == 403
    assert "It needs the role operator" in answer.content.decode()
    assert Rollout.objects.count() == before


def test_an_operator_of_staging_may_not_promote_in_prod(rows: FleetRows, sign_in: Callable[..., Client]) -> None:
    client = sign_in("operator", "staging")

    answer = client.post(PROMOTE, promotion())

    assert answer.status_code == 403


def test_a_form_from_elsewhere_is_not_taken(rows: FleetRows, sign_in: Callable[..., Client]) -> None:
    client = sign_in("operator", enforce_csrf_checks=True)

    answer = client.post(PROMOTE, promotion())

    assert answer.status_code == 403
    assert not Rollout.objects.filter(state="queued").exists()


def test_in_a_dialog_the_refusal_is_a_part_and_success_leaves_it(rows: FleetRows, operator: Client) -> None:
    refused = operator.post(PROMOTE, promotion(version="1"), headers={"HX-Request": "true"})
    done = operator.post(PROMOTE, promotion(), headers={"HX-Request": "true"})

    assert "<html" not in refused.content.decode()
    assert done.headers["HX-Redirect"] == f"/rollouts/{Rollout.objects.latest('pk').pk}/"
