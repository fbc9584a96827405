"""Releases on pages."""

import pytest
from django.test import Client

from apps.deployments.models import Release
from tests.factories.fleets import FleetRows
from tests.factories.releases import with_letters

FORM = "/releases/begin/"


@pytest.fixture
def pair(rows: FleetRows) -> FleetRows:
    """A second model beside `digits`, both on version 1 in prod."""
    return with_letters(rows)


def begin(client: Client, items: str = "digits 2\nletters 2\n") -> Release:
    client.post(FORM, {"environment": "prod", "items": items, "reason": "together"})
    return Release.objects.latest("pk")


def test_a_release_begins_from_lines_and_goes_to_its_page(pair: FleetRows, operator: Client) -> None:
    answer = operator.post(FORM, {"environment": "prod", "items": " digits 2\n\nletters  2", "reason": ""})

    release = Release.objects.get()
    assert answer.headers["Location"] == f"/releases/{release.pk}/"
    assert {rollout.placement.model.name for rollout in release.rollouts.all()} == {"digits", "letters"}


def test_a_line_that_is_no_model_and_version_is_named(pair: FleetRows, operator: Client) -> None:
    answer = operator.post(FORM, {"environment": "prod", "items": "digits two", "reason": ""})

    assert answer.status_code == 400
    assert "not &#x27;digits two&#x27;" in answer.content.decode()


def test_its_page_shows_each_model_and_offers_to_stop_all(pair: FleetRows, operator: Client) -> None:
    release = begin(operator)

    page = operator.get(f"/releases/{release.pk}/").content.decode()

    assert "nothing is decided yet" in page
    assert all(words in page for words in ("digits", "letters", "1 → 2", "Roll back all…", "Abort all…"))
    assert f"/releases/{release.pk}/" in operator.get("/releases/").content.decode()


@pytest.mark.parametrize(("verb", "held"), [("abort", {False}), ("roll-back", {True})])
def test_stopping_it_takes_all_back(pair: FleetRows, operator: Client, verb: str, held: set[bool]) -> None:
    release = begin(operator)
    question = operator.get(f"/releases/{release.pk}/{verb}/").content.decode()

    operator.post(f"/releases/{release.pk}/{verb}/", {"reason": "errors", "ban": "on"})

    page = operator.get(f"/releases/{release.pk}/").content.decode()
    assert "digits 1 → 2" in question
    assert ("Roll back all…" in page) is (verb == "abort")
    assert {rollout.state for rollout in release.rollouts.all()} == {"reverting"}
    assert {rollout.placement.held_at is not None for rollout in release.rollouts.all()} == held


def test_a_refusal_keeps_what_was_typed(pair: FleetRows, operator: Client) -> None:
    begin(operator)

    answer = operator.post(FORM, {"environment": "prod", "items": "digits 2", "reason": "typed with care"})

    assert answer.status_code == 409
    assert "typed with care" in answer.content.decode()


def test_the_plan_of_a_release_tells_each_models_share_and_what_stands_in_the_way(
    pair: FleetRows, operator: Client
) -> None:
    asked = {"environment": "prod", "items": "digits 1\nletters 2"}

    told = operator.get("/releases/plan/", asked).content.decode()

    assert "digits 1 → 1 in prod" in told
    assert "letters 1 → 2 in prod" in told
    assert told.count("This would be refused") == 1
    assert "/releases/plan/" in operator.get(FORM).content.decode()
    assert not Release.objects.exists()


def test_a_plan_without_models_asks_for_them(pair: FleetRows, operator: Client) -> None:
    unknown = operator.get("/releases/plan/", {"environment": "prod", "items": "digits 99"}).content.decode()

    assert "Name the models" in operator.get("/releases/plan/").content.decode()
    assert "This would be refused:" in unknown


def test_a_release_is_paused_and_resumed_from_its_page(pair: FleetRows, operator: Client) -> None:
    release = begin(operator)
    here = f"/releases/{release.pk}/"

    moving = operator.get(here).content.decode()
    operator.post(f"{here}pause/", {"reason": "look first"})
    paused = operator.get(here).content.decode()
    operator.post(f"{here}resume/", {"reason": "all good"})

    assert "Pause all…" in moving
    assert ("Resume all…" in paused, "look first" in paused, "Pause all…" in paused) == (True, True, False)
    assert {rollout.state for rollout in release.rollouts.all()} == {"running"}
