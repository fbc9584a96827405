"""Configuring a model in one environment from the console."""

import pytest
from django.test import Client

from apps.deployments.models import Overlay, Placement, Rollout
from tests.apps.api.test_overlays import BATCHING, CONFIG
from tests.factories.fleets import FleetRows

PAGE = "/models/digits/prod/overlay/"


@pytest.fixture
def live(rows: FleetRows) -> FleetRows:
    """The live version has a whole configuration."""
    version = rows.versions["digits", 1]
    version.config = CONFIG
    version.save()
    return rows


def test_a_link_proposes_a_value_and_the_page_shows_what_comes_of_it(live: FleetRows, viewer: Client) -> None:
    page = viewer.get(f"{PAGE}?set=dynamic_batching.max_queue_delay_microseconds=500").content.decode()

    assert ">dynamic_batching.max_queue_delay_microseconds=500</textarea>" in page.replace("\n", "")
    assert "+   max_queue_delay_microseconds: 500" in page
    assert "New instances come up beside the old ones" in page
    assert "Roll out on 2 prod servers" in page


def test_a_proposed_value_takes_the_place_of_the_one_in_effect(live: FleetRows, viewer: Client) -> None:
    placement = live.placements["digits", "prod"]
    kept = Overlay.objects.create(placement=placement, number=1, document=BATCHING)
    Placement.objects.filter(pk=placement.pk).update(overlay=kept)

    page = viewer.get(f"{PAGE}?set=dynamic_batching.max_queue_delay_microseconds=900").content.decode()

    assert page.count("max_queue_delay_microseconds=900</textarea>") == 1
    assert ">\ndynamic_batching.max_queue_delay_microseconds=900</textarea>" in page
    assert "in effect" in page


def test_looking_changes_nothing_and_rolling_out_goes_to_the_rollout(live: FleetRows, operator: Client) -> None:
    sent = {"changes": "instance_group.count=2", "reason": "more load"}

    looked = operator.post(PAGE, {**sent, "look": ""})
    before = Overlay.objects.count()
    gone = operator.post(PAGE, {**sent, "roll_out": ""})

    rollout = Rollout.objects.latest("pk")
    assert looked.status_code == 200
    assert "Only instances change: nothing that is loaded starts again." in looked.content.decode()
    assert before == 0
    assert gone.headers["Location"] == f"/rollouts/{rollout.pk}/"
    assert rollout.kind == "reconfigure"
    assert Overlay.objects.latest("pk").document == {"instance_group": [{"count": 2}]}


def test_a_line_that_is_wrong_is_told_of_and_kept(live: FleetRows, operator: Client) -> None:
    answer = operator.post(PAGE, {"changes": "dynamic_batching.max_delay=5", "reason": "x", "roll_out": ""})

    page = answer.content.decode()
    assert answer.status_code == 400
    assert "there is no field &#x27;max_delay&#x27;" in page
    assert "dynamic_batching.max_delay=5</textarea>" in page
    assert Overlay.objects.count() == 0


def test_going_back_is_one_click_from_the_rollout_that_brought_it(live: FleetRows, operator: Client) -> None:
    placement = live.placements["digits", "prod"]
    kept = Overlay.objects.create(placement=placement, number=1, document=BATCHING)
    Placement.objects.filter(pk=placement.pk).update(overlay=kept)
    brought = live.rollout("digits", "prod", 1, 1, kind="reconfigure", to_overlay=kept)

    page = operator.get(f"/rollouts/{brought.pk}/").content.decode()
    answer = operator.post(f"{PAGE}0/restore/", {"reason": "slower"})

    rollout = Rollout.objects.latest("pk")
    assert f'href="{PAGE}0/restore/"' in page
    assert "1: as uploaded → overlay 1" in page
    assert answer.headers["Location"] == f"/rollouts/{rollout.pk}/"
    assert rollout.from_overlay == kept
    assert Overlay.objects.latest("pk").document == {}


def test_a_viewer_may_look_and_not_roll_out(live: FleetRows, viewer: Client) -> None:
    answer = viewer.post(PAGE, {"changes": "instance_group.count=2", "reason": "x", "roll_out": ""})

    assert answer.status_code == 403
    assert "It needs the role operator" in answer.content.decode()
