"""Several models that go live together, or not at all."""

from typing import Any

import pytest
from django.utils import timezone

from apps.access.services import actor_of, add_user, grant_role
from apps.audit import selectors as audit
from apps.common.actor import COMMAND
from apps.deployments import errors, selectors, services
from apps.deployments.errors import MembersMissing
from apps.deployments.models import Placement, Release, Rollout, Run
from apps.fleet.models import Observation
from apps.registry.models import Version
from tests.factories.fleets import FleetRows
from tests.factories.releases import PAIR, advance, arrive, begin, live, pass_all, settle

STEP = {
    "model_name": "digits",
    "input_map": {"pixels": "pixels"},
    "output_map": {"label": "label"},
}
ENSEMBLE = {
    "platform": "ensemble",
    "max_batch_size": 16,
    "input": [{"name": "pixels", "data_type": "TYPE_FP32", "dims": [64]}],
    "output": [{"name": "label", "data_type": "TYPE_INT64", "dims": [1]}],
    "ensemble_scheduling": {"step": [STEP]},
}

PLAIN = {
    "backend": "python",
    "max_batch_size": 16,
    "input": [{"name": "pixels", "data_type": "TYPE_FP32", "dims": [64]}],
    "output": [{"name": "label", "data_type": "TYPE_INT64", "dims": [1]}],
}


def ensemble_over_digits(pair: FleetRows) -> None:
    """Version 2 of `letters` is made of `digits`."""
    Version.objects.filter(pk=pair.versions["letters", 2].pk).update(config=ENSEMBLE)


def test_a_release_is_one_rollout_for_each_model_and_all_its_runs_start(pair: FleetRows) -> None:
    release = begin()

    rollouts = advance(release)

    assert {name: rollout.to_version for name, rollout in rollouts.items()} == {
        "digits": pair.versions["digits", 2],
        "letters": pair.versions["letters", 2],
    }
    runs = Run.objects.filter(rollout__release=release)
    assert list(runs.values_list("state", flat=True)) == ["running"] * 4
    assert all(run.recipe[2:5] == ["shadow", "barrier", "load"] for run in runs)
    assert {event.verb for event in audit.events(environment="prod")} == {"begin_release", "promote"}


def test_an_ensemble_that_pins_the_version_coming_with_it_is_not_refused(pair: FleetRows) -> None:
    pinned = {**ENSEMBLE, "ensemble_scheduling": {"step": [{**STEP, "model_version": 2}]}}
    Version.objects.filter(pk=pair.versions["letters", 2].pk).update(config=pinned)
    Version.objects.filter(pk=pair.versions["digits", 2].pk).update(config=PLAIN)

    rollouts = advance(begin())

    assert {rollout.state for rollout in rollouts.values()} == {"running"}


def test_an_ensemble_is_held_against_the_member_that_comes_with_it(pair: FleetRows) -> None:
    ensemble_over_digits(pair)
    renamed = [{"name": "image", "data_type": "TYPE_FP32", "dims": [64]}]
    Version.objects.filter(pk=pair.versions["digits", 2].pk).update(config={**PLAIN, "input": renamed})

    with pytest.raises(errors.PreflightFailed, match="no input"):
        services.begin_release(COMMAND, environment="prod", items=PAIR, confirm=["interface"])


def test_a_model_that_is_moving_refuses_the_whole_release(pair: FleetRows) -> None:
    moving = services.promote(COMMAND, environment="prod", model="letters", version=2)

    with pytest.raises(errors.RolloutActive, match="letters") as refused:
        begin()

    assert refused.value.facts["rollout"] == moving.pk
    assert not Release.objects.exists()
    assert list(Rollout.objects.all()) == [moving]


@pytest.mark.parametrize("items", [[], [PAIR[0], PAIR[0]]])
def test_a_release_names_each_model_once(pair: FleetRows, items: list[Any]) -> None:
    with pytest.raises(errors.ReleaseInvalid):
        services.begin_release(COMMAND, environment="prod", items=items)


def test_nothing_goes_live_before_every_run_has_passed_its_shadow(pair: FleetRows) -> None:
    release = begin()
    advance(release)
    runs = list(Run.objects.filter(rollout__release=release).order_by("pk"))
    for run in runs[:-1]:
        arrive(run, "shadow", "barrier")

    waiting = selectors.barrier_waits_for(selectors.get_run(runs[0].pk))
    arrive(runs[-1], "shadow", "barrier")

    assert waiting == "3 of 4 runs of the release have passed their shadows"
    assert selectors.barrier_waits_for(selectors.get_run(runs[0].pk)) == ""


def test_an_ensemble_waits_for_its_members_on_the_same_server(pair: FleetRows) -> None:
    ensemble_over_digits(pair)
    release = begin()
    rollouts = advance(release)
    for run in Run.objects.filter(rollout__release=release):
        arrive(run, "shadow", "barrier")
    ensemble = rollouts["letters"].runs.get(server__name="prod-1")
    member = rollouts["digits"].runs.get(server__name="prod-1")

    before = selectors.barrier_waits_for(selectors.get_run(ensemble.pk))
    arrive(member, "shadow", "barrier", "load", "await_ready", "verify")

    assert before == "its member digits is not ready yet"
    assert selectors.barrier_waits_for(selectors.get_run(ensemble.pk)) == ""


def test_an_ensemble_that_comes_with_its_members_is_not_tried_aside_on_the_old_ones(pair: FleetRows) -> None:
    ensemble_over_digits(pair)

    rollouts = advance(begin())

    recipes = {name: list(rollout.runs.all()[0].recipe) for name, rollout in rollouts.items()}
    assert recipes["digits"][2:4] == ["shadow", "barrier"]
    assert recipes["letters"][2:4] == ["barrier", "load"]
    assert "old members" in rollouts["letters"].plan["no_shadow"]


def test_a_member_that_is_neither_live_nor_coming_refuses_the_release(pair: FleetRows) -> None:
    ensemble_over_digits(pair)
    Placement.objects.filter(model__name="digits").update(active=None)

    with pytest.raises(MembersMissing, match="digits"):
        services.begin_release(COMMAND, environment="prod", items=[PAIR[1]])
    begun = begin()

    assert begun.items == {"digits": 2, "letters": 2}


def test_no_pointer_moves_before_all_have_passed_and_then_all_do(pair: FleetRows) -> None:
    release = begin()
    rollouts = advance(release)
    rollouts["digits"].runs.update(state="succeeded", finished_at=timezone.now())
    advance(release)
    half_way = (live("digits"), live("letters"), selectors.get_release(release.pk).decision)

    pass_all(release)
    advance(release)
    decided = selectors.get_release(release.pk).decision
    advance(release)
    settle(release)
    rollouts = advance(release)

    assert half_way == (1, 1, "")
    assert decided == "go"
    assert (live("digits"), live("letters")) == (2, 2)
    assert selectors.release_state(selectors.get_release(release.pk)) == "succeeded"
    assert selectors.has_release_ended(release.pk)


def test_an_unknown_release_is_named(db: None) -> None:
    with pytest.raises(errors.ReleaseUnknown, match="4711"):
        selectors.get_release(4711)
    with pytest.raises(errors.ReleaseUnknown, match="4711"):
        selectors.has_release_ended(4711)


def test_a_server_that_is_down_refuses_the_whole(pair: FleetRows) -> None:
    Observation.objects.filter(server__name="prod-2").update(is_reachable=False)

    with pytest.raises(errors.ServersDown):
        begin()
    services.begin_release(COMMAND, environment="prod", items=PAIR, skip=["prod-2"])

    assert {run.server.name for run in Run.objects.all()} == {"prod-1"}


def test_one_approval_lets_the_whole_release_begin_and_the_author_gives_none(pair: FleetRows) -> None:
    services.change_policy(COMMAND, environment="prod", document={"approval": "another"})
    release = begin()

    with pytest.raises(errors.ApprovalByAuthor):
        services.approve_release(COMMAND, release=release.pk, reason="mine")
    approver = actor_of(add_user(COMMAND, username="bob", password="a long password"), door="console", address="")
    grant_role(COMMAND, username="bob", role="operator")
    approved = services.approve_release(approver, release=release.pk, reason="read it")

    assert {(one.state, one.approved_by) for one in approved.rollouts.all()} == {("queued", "bob")}
    verbs = [event.verb for event in audit.events(subject=str(release.pk)).filter(subject_kind="release")]
    assert verbs == ["approve_release", "begin_release"]


def test_a_freeze_that_refuses_one_approval_approves_none(pair: FleetRows) -> None:
    services.change_policy(COMMAND, environment="prod", document={"approval": "another"})
    release = begin()
    frozen = {"cron": "0 0 * * *", "duration_s": 86_399, "reason": "release week"}
    services.change_policy(COMMAND, environment="prod", document={"approval": "another", "freeze": [frozen]})
    approver = actor_of(add_user(COMMAND, username="bob", password="a long password"), door="console", address="")
    grant_role(COMMAND, username="bob", role="operator")

    with pytest.raises(errors.PromotionsFrozen):
        services.approve_release(approver, release=release.pk, reason="read it")

    assert {one.state for one in release.rollouts.all()} == {"unapproved"}


def test_a_plan_of_a_release_counts_what_comes_with_it_as_there(pair: FleetRows) -> None:
    pair.model("ens")
    pair.version("ens", 1, config={**ENSEMBLE, "ensemble_scheduling": {"step": [{**STEP, "model_version": "2"}]}})
    items = [{"model": "digits", "version": 2}, {"model": "ens", "version": 1}]

    together = services.plan_release(COMMAND, environment="prod", items=items)
    alone = services.plan_promotion(COMMAND, environment="prod", model="ens", version=1)

    assert "members_missing" in [error.code for error in alone.obstacles]
    assert "members_missing" not in [error.code for item in together.items for error in item.obstacles]
    assert [bool(item.no_shadow) for item in together.items] == [False, True]
    assert {item.waves for item in together.items} == {(2,)}
