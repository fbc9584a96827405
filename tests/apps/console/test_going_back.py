"""Going back by hand: the rollback form, holds, bans."""

import re
from html import unescape

from django.test import Client

from apps.deployments.models import Ban, Placement, Rollout
from tests.apps.console.test_deployments import PROMOTE, ROLL_BACK, promotion
from tests.factories.fleets import FleetRows


def test_rolling_back_goes_to_the_version_that_was_live_before(rows: FleetRows, operator: Client) -> None:
    answer = operator.post(ROLL_BACK, {"to": "1", "reason": "wrong answers"})

    rollout = Rollout.objects.latest("pk")
    assert answer.headers["Location"] == f"/rollouts/{rollout.pk}/"
    assert (rollout.kind, rollout.to_version, rollout.reason) == (
        "rollback",
        rows.versions["digits", 1],
        "wrong answers",
    )


def test_rolling_back_asks_why(rows: FleetRows, operator: Client) -> None:
    answer = operator.post(ROLL_BACK, {"to": "1", "reason": " "})

    assert answer.status_code == 400
    assert 'aria-invalid="true"' in answer.content.decode()
    assert not Rollout.objects.filter(kind="rollback").exists()


def test_the_rollback_form_says_how_many_servers_and_how_quickly(rows: FleetRows, operator: Client) -> None:
    page = operator.get(ROLL_BACK).content.decode()

    assert "Roll back 1 staging server from 2 to" in page
    assert "1 (hot: instant)" in page


def test_the_card_names_the_version_it_goes_back_to(rows: FleetRows, operator: Client) -> None:
    page = operator.get("/models/digits/").content.decode()

    assert "Roll back to 1 <small>hot: instant</small>" in page


def test_the_rollback_form_says_what_it_bans_and_holds(rows: FleetRows, operator: Client) -> None:
    page = operator.get(ROLL_BACK).content.decode()

    assert "Ban version 2 in staging until somebody lifts it" in page
    assert "Holds digits in staging: promotions ask first" in page


def test_rolling_back_from_the_form_bans_as_ticked(rows: FleetRows, operator: Client) -> None:
    operator.post(ROLL_BACK, {"to": "1", "reason": "wrong answers", "ban": "on"})

    ban = Ban.objects.get()
    assert (ban.version, ban.actor, ban.reason) == (rows.versions["digits", 2], "operator-all", "wrong answers")


def test_an_unticked_box_bans_nothing(rows: FleetRows, operator: Client) -> None:
    operator.post(ROLL_BACK, {"to": "1", "reason": "the clients are not ready"})

    assert not Ban.objects.exists()
    assert Placement.objects.get(environment__name="staging").hold_reason == "the clients are not ready"


def test_a_prefilled_rollback_has_the_version_chosen(rows: FleetRows, operator: Client) -> None:
    assert '<option value="1" selected>' in operator.get(f"{ROLL_BACK}?to=1").content.decode()


def test_a_moving_promotion_is_offered_to_be_turned_round(rows: FleetRows, operator: Client) -> None:
    operator.post(PROMOTE, promotion())

    page = operator.get("/models/digits/in/prod/roll-back/").content.decode()
    operator.post("/models/digits/in/prod/roll-back/", {"to": "1", "reason": "errors", "ban": "on"})

    rollout = Rollout.objects.latest("pk")
    assert "1 (puts back what has changed so far)" in page
    assert f"Stops rollout {rollout.pk}, a promote by operator-all" in page
    assert (rollout.state, rollout.turned_by) == ("reverting", "operator-all")


def test_a_hold_stands_on_the_card_and_asks_before_a_promotion(rows: FleetRows, operator: Client) -> None:
    operator.post("/models/digits/in/prod/hold/", {"reason": "incident"})

    page = operator.get("/models/digits/").content.decode()
    refused = operator.post(PROMOTE, promotion())
    operator.post(PROMOTE, promotion(confirm_hold="on"))

    assert "held by operator-all" in page
    assert "incident" in page
    assert (refused.status_code, "Go on, and let go of the hold" in refused.content.decode()) == (409, True)
    assert Placement.objects.get(environment__name="prod").held_at is None


def test_a_hold_that_refused_a_promotion_is_not_said_again_in_the_plan_below(rows: FleetRows, operator: Client) -> None:
    operator.post("/models/digits/in/prod/hold/", {"reason": "incident"})
    in_dialog = {"HX-Request": "true"}

    refused = operator.post(PROMOTE, promotion(), headers=in_dialog).content.decode()
    (asked,) = re.findall(r'class="preview" hx-get="([^"]+)"', refused)
    where = f"{unescape(asked)}&environment=prod&version=2"

    assert "What is live here is held" in operator.get(where.replace("told=", "x="), headers=in_dialog).content.decode()
    assert "What is live here is held" not in operator.get(where, headers=in_dialog).content.decode()
    assert "What is live here is held" in operator.get(where).content.decode()


def test_letting_go_takes_the_hold_away(rows: FleetRows, operator: Client) -> None:
    operator.post("/models/digits/in/prod/hold/", {"reason": "incident"})

    operator.post("/models/digits/in/prod/let-go/", {"reason": "over"})

    assert Placement.objects.get(environment__name="prod").held_at is None


def test_a_ban_stands_at_its_version_and_is_lifted_from_there(rows: FleetRows, operator: Client) -> None:
    operator.post(ROLL_BACK, {"to": "1", "reason": "wrong answers", "ban": "on"})
    ban = Ban.objects.get()

    pages = [operator.get(where).content.decode() for where in ("/models/digits/", "/models/digits/versions/2/")]
    question = operator.get(f"/bans/{ban.pk}/lift/").content.decode()
    operator.post(f"/bans/{ban.pk}/lift/", {"reason": "labels were right"})

    ban.refresh_from_db()
    assert [f'href="/bans/{ban.pk}/lift/"' in page for page in pages] == [True, True]
    assert "Banned by operator-all: wrong answers" in question
    assert ban.lift_reason == "labels were right"


def test_a_list_of_rollouts_offers_no_way_back_to_what_is_archived(rows: FleetRows, operator: Client) -> None:
    before = operator.get("/rollouts/").content.decode() + operator.get("/").content.decode()
    version = rows.versions["digits", 1]
    version.state = "archived"
    version.save(update_fields=["state"])

    after = operator.get("/rollouts/").content.decode() + operator.get("/").content.decode()

    assert before.count(f'href="{ROLL_BACK}"') == 2
    assert f'href="{ROLL_BACK}"' not in after
