"""Several models that go live together, or not at all."""

from typing import Any

import pytest
from django.utils import timezone

from apps.access.services import actor_of, add_user, grant_role
from apps.audit import selectors as audit
from apps.common.actor import COMMAND
from apps.deployments import errors, selectors, services
from apps.deployments.errors import MembersMissing
from apps.deployments.models import Ban, Placement, Release, Rollout, Run, StepRun
from apps.fleet.models import Observation
from apps.registry.models import Version
from tests.factories.fleets import FleetRows
from tests.factories.histories import passed_shadow

PAIR = [{"model": "digits", "version": 2}, {"model": "letters", "version": 2}]
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


@pytest.fixture
def pair(rows: FleetRows) -> FleetRows:
    """Two models with version 1 live and version 2 ready."""
    rows.model("letters")
    for number in (1, 2):
        rows.version("letters", number)
    rows.placed("letters", "prod", 1)
    return rows


def ensemble_over_digits(pair: FleetRows) -> None:
    """Version 2 of `letters` is made of `digits`."""
    Version.objects.filter(pk=pair.versions["letters", 2].pk).update(config=ENSEMBLE)


def begin() -> Release:
    return services.begin_release(COMMAND, environment="prod", items=PAIR, reason="together")


def advance(release: Release) -> dict[str, Rollout]:
    """Walk each rollout once; they, by model."""
    for rollout in release.rollouts.order_by("pk"):
        services.advance_rollout(rollout.pk, now=timezone.now())
    return {rollout.placement.model.name: rollout for rollout in selectors.get_release(release.pk).rollouts.all()}


def arrive(run: Run, *steps: str) -> None:
    """The run has come through these steps; the last one is where it is."""
    for position, name in enumerate(steps):
        is_last = position == len(steps) - 1
        StepRun.objects.update_or_create(
            run=run,
            name=name,
            defaults={
                "position": position,
                "state": "running" if is_last else "succeeded",
                "started_at": timezone.now(),
            },
        )


def pass_all(release: Release) -> None:
    """Every forward run that moves succeeds."""
    Run.objects.filter(rollout__release=release, direction="forward", state="running").update(
        state="succeeded", has_changed_server=True, finished_at=timezone.now()
    )


def settle(release: Release) -> None:
    """What settles or puts back has done its work."""
    Run.objects.filter(rollout__release=release, state="running").exclude(direction="forward").update(
        state="succeeded", finished_at=timezone.now()
    )


def live(model: str) -> int | None:
    active = selectors.get_placement("prod", model).active
    return active.number if active else None


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


def test_one_that_fails_aside_takes_all_back_and_nothing_was_touched(pair: FleetRows) -> None:
    release = begin()
    rollouts = advance(release)
    failed = rollouts["letters"].runs.get(position=0)
    Run.objects.filter(pk=failed.pk).update(state="failed", error={"code": "shadow_failed", "message": "wrong"})

    advance(release)
    Run.objects.filter(rollout__release=release, state="running").update(state="cancelled")
    advance(release)
    advance(release)

    ended = selectors.get_release(release.pk)
    assert selectors.release_state(ended) == "rolled_back"
    assert (ended.decision, ended.error["message"]) == ("back", "wrong")
    told = {rollout.placement.model.name: rollout.error["code"] for rollout in ended.rollouts.all()}
    assert told == {"letters": "shadow_failed", "digits": "release_turned_back"}
    assert (live("digits"), live("letters")) == (1, 1)


def test_one_that_fails_live_puts_back_those_that_had_passed(pair: FleetRows) -> None:
    release = begin()
    rollouts = advance(release)
    rollouts["digits"].runs.update(state="succeeded", has_changed_server=True, finished_at=timezone.now())
    rollouts["letters"].runs.filter(position=0).update(
        state="failed", has_changed_server=True, error={"code": "golden_mismatch", "message": "wrong"}
    )

    advance(release)
    Run.objects.filter(rollout__release=release, direction="forward", state="running").update(state="cancelled")
    advance(release)
    put_back = Run.objects.filter(rollout__release=release, direction="revert")
    servers = {(run.model.name, run.server.name) for run in put_back}
    settle(release)
    advance(release)

    assert servers == {("digits", "prod-1"), ("digits", "prod-2"), ("letters", "prod-1")}
    assert selectors.release_state(selectors.get_release(release.pk)) == "rolled_back"


@pytest.mark.parametrize("state", ["unapproved", "paused"])
def test_one_that_waits_for_somebody_goes_back_with_the_others_even_if_the_message_is_lost(
    pair: FleetRows, state: str
) -> None:
    release = begin()
    rollouts = advance(release)
    Rollout.objects.filter(pk=rollouts["letters"].pk).update(state=state)
    before = selectors.due_rollouts(timezone.now())

    services.abort(COMMAND, rollout=rollouts["digits"].pk, reason="wrong build")
    Rollout.objects.update(due_at=timezone.now())
    due = selectors.due_rollouts(timezone.now())
    advance(release)

    assert rollouts["letters"].pk not in before
    assert set(due) == {rollout.pk for rollout in rollouts.values()}
    assert selectors.state_of(rollouts["letters"].pk) == "reverting"


def test_aborting_one_or_all_takes_all_back(pair: FleetRows) -> None:
    release = begin()
    rollouts = advance(release)

    services.abort(COMMAND, rollout=rollouts["digits"].pk, reason="wrong build")
    advance(release)
    states = {rollout.state for rollout in selectors.get_release(release.pk).rollouts.all()}

    assert states == {"reverting"}
    with pytest.raises(errors.ReleaseDecided):
        services.abort_release(COMMAND, release=release.pk, reason="again")


def test_aborting_a_release_needs_a_reason_and_holds_nothing(pair: FleetRows) -> None:
    release = begin()

    with pytest.raises(errors.ReasonMissing):
        services.abort_release(COMMAND, release=release.pk, reason=" ")
    services.abort_release(COMMAND, release=release.pk, reason="not now")

    assert selectors.release_state(selectors.get_release(release.pk)) == "reverting"
    assert not Placement.objects.filter(held_at__isnull=False).exists()


def test_what_has_passed_as_a_whole_cannot_be_stopped_in_part(pair: FleetRows) -> None:
    release = begin()
    rollouts = advance(release)
    pass_all(release)
    advance(release)

    with pytest.raises(errors.ReleaseDecided):
        services.abort(COMMAND, rollout=rollouts["digits"].pk, reason="too late")

    assert selectors.state_of(rollouts["digits"].pk) == "running"


def test_rolling_back_a_moving_release_turns_all_round_holds_and_bans(pair: FleetRows) -> None:
    release = begin()
    advance(release)

    told = services.roll_back_release(COMMAND, release=release.pk, reason="errors")

    assert {rollout.state for rollout in told.rollouts.all()} == {"reverting"}
    assert {ban.version.model.name for ban in Ban.objects.all()} == {"digits", "letters"}
    assert Placement.objects.filter(hold_reason="errors").count() == 2
    assert (told.turned_by, told.turned_because) == ("command line", "errors")


def test_a_release_that_was_aborted_and_is_rolled_back_at_once_is_held_and_banned_after_all(pair: FleetRows) -> None:
    release = begin()
    advance(release)
    services.abort_release(COMMAND, release=release.pk, reason="not now")

    told = services.roll_back_release(COMMAND, release=release.pk, reason="errors")
    with pytest.raises(errors.ReleaseDecided):
        services.roll_back_release(COMMAND, release=release.pk, reason="again")

    assert {rollout.state for rollout in told.rollouts.all()} == {"reverting"}
    assert {ban.version.model.name for ban in Ban.objects.all()} == {"digits", "letters"}
    assert Placement.objects.filter(hold_reason="errors").count() == 2
    assert Release.objects.get(pk=release.pk).turned_because == "errors"


def test_a_part_that_has_gone_back_already_is_held_and_banned_with_the_others(pair: FleetRows) -> None:
    release = begin()
    advance(release)
    services.abort_release(COMMAND, release=release.pk, reason="not now")
    Rollout.objects.filter(release=release, placement__model__name="digits").update(state="rolled_back")

    services.roll_back_release(COMMAND, release=release.pk, reason="errors")
    with pytest.raises(errors.ReleaseDecided):
        services.roll_back_release(COMMAND, release=release.pk, reason="errors")

    assert {ban.version.model.name for ban in Ban.objects.all()} == {"digits", "letters"}
    assert Placement.objects.filter(hold_reason="errors").count() == 2
    rolled_back = [event for event in audit.events(verb="roll_back") if event.subject_kind == "rollout"]
    assert sorted(event.model for event in rolled_back) == ["digits", "letters"]


def test_what_has_moved_since_a_part_went_back_is_not_held(pair: FleetRows) -> None:
    release = begin()
    advance(release)
    services.abort_release(COMMAND, release=release.pk, reason="not now")
    Rollout.objects.filter(release=release, placement__model__name="digits").update(state="rolled_back")
    Rollout.objects.filter(pk=pair.rollout("digits", "prod", 1, 1).pk).update(created_at=timezone.now())

    services.roll_back_release(COMMAND, release=release.pk, reason="errors")

    assert {ban.version.model.name for ban in Ban.objects.all()} == {"digits", "letters"}
    assert [one.model.name for one in Placement.objects.filter(hold_reason="errors")] == ["letters"]


def test_rolling_back_a_release_that_is_live_sends_all_of_it_back_at_once(pair: FleetRows) -> None:
    release = _released(pair)

    told = services.roll_back_release(COMMAND, release=release.pk, reason="errors")

    backs = [rollout for rollout in told.rollouts.all() if rollout.kind == "rollback"]
    assert {(back.placement.model.name, back.to_version.number) for back in backs if back.to_version} == {
        ("digits", 1),
        ("letters", 1),
    }
    assert {run.state for run in Run.objects.filter(rollout__in=backs)} == {"running"}


def test_what_went_live_after_a_release_is_left_alone(pair: FleetRows) -> None:
    release = _released(pair)
    Placement.objects.filter(model__name="letters").update(active=pair.versions["letters", 1])

    told = services.roll_back_release(COMMAND, release=release.pk, reason="errors")

    backs = [rollout.placement.model.name for rollout in told.rollouts.all() if rollout.kind == "rollback"]
    assert backs == ["digits"]


def test_where_nothing_of_it_is_live_there_is_nothing_to_roll_back(pair: FleetRows) -> None:
    release = _released(pair)
    Placement.objects.update(active=None)

    with pytest.raises(errors.ReleaseNotLive):
        services.roll_back_release(COMMAND, release=release.pk, reason="errors")


def test_a_first_version_is_unloaded_when_its_release_goes_back(pair: FleetRows) -> None:
    release = _released(pair)
    Rollout.objects.filter(release=release).update(from_version=None)

    told = services.roll_back_release(COMMAND, release=release.pk, reason="errors")

    assert [rollout.kind for rollout in told.rollouts.all()].count("unload") == 2


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


def _released(pair: FleetRows) -> Release:
    """Both models are on version 2 by a release, and 1 has passed its shadow before."""
    for model in ("digits", "letters"):
        passed_shadow(pair, 1, model=model)
    release = begin()
    advance(release)
    pass_all(release)
    for _ in range(3):
        advance(release)
        settle(release)
    advance(release)
    assert (live("digits"), live("letters")) == (2, 2)
    return release


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
