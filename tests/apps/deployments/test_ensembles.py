"""What ensembles demand of the models they are made of."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import services
from apps.deployments.errors import MembersMissing, NeededByEnsemble
from apps.deployments.models import Rollout, Run
from apps.deployments.selectors.ensembles import live_ensembles
from apps.registry.models import Version
from apps.serving import backends
from apps.serving.configuration import Member
from tests.apps.deployments.test_reconciler import look_again, lose
from tests.factories.fleets import FleetRows
from tests.factories.histories import went_live


def steps(*members: tuple[str, int]) -> dict[str, object]:
    told = [{"model_name": model, "model_version": str(version)} for model, version in members]
    return {"name": "ens", "platform": "ensemble", "ensemble_scheduling": {"step": told}}


@pytest.fixture
def ensemble(rows: FleetRows) -> FleetRows:
    """`ens`, made of digits, live in prod."""
    rows.model("ens")
    rows.version("ens", 1, config=steps(("digits", -1)))
    rows.placed("ens", "prod", 1)
    return rows


def test_members_are_read_from_the_steps_once_each_with_the_version_they_name() -> None:
    read = backends.get("triton").CONFIG.members

    assert read(steps(("prep", -1), ("core", 3), ("prep", -1))) == (Member("prep"), Member("core", 3))
    assert read({"name": "plain", "backend": "python"}) == ()


def test_only_ensembles_are_found_among_what_is_live(ensemble: FleetRows) -> None:
    (found,) = live_ensembles(ensemble.environments["prod"])

    assert (found.model, found.number, found.members) == ("ens", 1, (Member("digits"),))


def test_an_ensemble_whose_members_are_not_live_is_refused(rows: FleetRows) -> None:
    rows.model("ens")
    rows.version("ens", 1, config=steps(("digits", 2), ("prep", -1)))

    with pytest.raises(MembersMissing) as refused:
        services.promote(COMMAND, environment="prod", model="ens", version=1)

    assert refused.value.facts["members"] == ["digits version 2", "prep"]


def test_a_member_of_a_live_ensemble_is_not_unloaded(ensemble: FleetRows) -> None:
    with pytest.raises(NeededByEnsemble, match="ens"):
        services.unload(COMMAND, environment="prod", model="digits", reason="not needed")


def test_unloading_an_ensemble_plans_which_of_its_members_stay_loaded(ensemble: FleetRows) -> None:
    rollout = services.unload(COMMAND, environment="prod", model="ens", reason="not needed")

    assert rollout.plan["stays_loaded"] == ["digits"]


def test_unloading_what_is_no_ensemble_says_nothing_of_members(rows: FleetRows) -> None:
    rollout = services.unload(COMMAND, environment="prod", model="digits", reason="not needed")

    assert "stays_loaded" not in rollout.plan


def test_promoting_a_member_ends_with_its_ensembles(ensemble: FleetRows) -> None:
    member = services.promote(COMMAND, environment="prod", model="digits", version=2)

    assert {run.recipe[-1] for run in member.runs.all()} == {"ensembles"}


def test_going_back_from_the_only_version_that_an_ensemble_takes_asks_first(ensemble: FleetRows) -> None:
    Version.objects.filter(model__name="ens").update(config=steps(("digits", 2)))
    went_live(ensemble, 2, before=1)
    back = partial(services.roll_back, COMMAND, environment="prod", model="digits", reason="wrong labels")

    with pytest.raises(NeededByEnsemble, match="ens takes version 2 of digits only"):
        back()

    assert {tuple(run.recipe) for run in back(confirm=["ensemble"]).runs.all()} == {
        ("expose", "await_ready", "ensembles")
    }


def test_going_back_to_what_every_ensemble_takes_does_not_ask(ensemble: FleetRows) -> None:
    went_live(ensemble, 2, before=1)

    back = services.roll_back(COMMAND, environment="prod", model="digits", reason="wrong labels")

    assert back.state == "running"


def test_members_heal_before_their_ensemble(ensemble: FleetRows) -> None:
    lose("prod-2")

    look_again(ensemble)

    kept = {row.model: row.why_not for row in ensemble.servers["prod-2"].drift.all()}
    assert kept == {"digits": "", "ens": "its members come first: digits"}


def test_an_ensemble_waits_while_its_member_is_healed_and_until_that_was_seen(ensemble: FleetRows) -> None:
    lose("prod-2")
    look_again(ensemble)
    heal = Rollout.objects.get()
    told = ensemble.servers["prod-2"].drift.filter(model="ens")

    look_again(ensemble)
    meanwhile = told.get().why_not
    Rollout.objects.update(state="failed", finished_at=timezone.now() + timedelta(seconds=1))
    Run.objects.update(state="failed", finished_at=timezone.now())
    look_again(ensemble)
    unseen = told.get().why_not
    ensemble.observed("prod-2", "digits", 1)
    look_again(ensemble, at=timezone.now() + timedelta(seconds=5))

    assert (meanwhile, unseen) == ("its members come first: digits", "its members come first: digits")
    assert [one.placement.model.name for one in Rollout.objects.exclude(pk=heal.pk)] == ["ens"]
