"""Releases that go back as one: stopped, rolled back while they move, when live, and when they have gone back."""

import pytest
from django.utils import timezone

from apps.audit import selectors as audit
from apps.common.actor import COMMAND
from apps.deployments import errors, selectors, services
from apps.deployments.models import Ban, Placement, Release, Rollout, Run
from apps.registry.models import Version
from tests.factories.fleets import FleetRows
from tests.factories.releases import advance, begin, live, pass_all, released, settle


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
    release = released(pair)

    told = services.roll_back_release(COMMAND, release=release.pk, reason="errors")

    backs = [rollout for rollout in told.rollouts.all() if rollout.kind == "rollback"]
    assert {(back.placement.model.name, back.to_version.number) for back in backs if back.to_version} == {
        ("digits", 1),
        ("letters", 1),
    }
    assert {run.state for run in Run.objects.filter(rollout__in=backs)} == {"running"}


def test_what_went_live_after_a_release_is_left_alone(pair: FleetRows) -> None:
    release = released(pair)
    Placement.objects.filter(model__name="letters").update(active=pair.versions["letters", 1])

    told = services.roll_back_release(COMMAND, release=release.pk, reason="errors")

    backs = [rollout.placement.model.name for rollout in told.rollouts.all() if rollout.kind == "rollback"]
    assert backs == ["digits"]


def test_where_nothing_of_it_is_live_there_is_nothing_to_roll_back(pair: FleetRows) -> None:
    release = released(pair)
    Placement.objects.update(active=None)

    with pytest.raises(errors.ReleaseNotLive):
        services.roll_back_release(COMMAND, release=release.pk, reason="errors")


def test_a_first_version_is_unloaded_when_its_release_goes_back(pair: FleetRows) -> None:
    release = released(pair)
    Rollout.objects.filter(release=release).update(from_version=None)

    told = services.roll_back_release(COMMAND, release=release.pk, reason="errors")

    assert [rollout.kind for rollout in told.rollouts.all()].count("unload") == 2


def gone_back() -> Release:
    """A release that was aborted, long enough ago: every part has ended."""
    release = begin()
    advance(release)
    services.abort_release(COMMAND, release=release.pk, reason="not now")
    Run.objects.filter(rollout__release=release, state="running").update(state="cancelled")
    advance(release)
    assert selectors.release_state(selectors.get_release(release.pk)) == "rolled_back"
    return release


def test_a_release_that_has_gone_back_as_a_whole_is_held_and_banned_once(pair: FleetRows) -> None:
    release = gone_back()

    services.roll_back_release(COMMAND, release=release.pk, reason="errors")
    with pytest.raises(errors.ReleaseNotLive, match="held or banned"):
        services.roll_back_release(COMMAND, release=release.pk, reason="again")

    assert {ban.version.model.name for ban in Ban.objects.all()} == {"digits", "letters"}
    assert Placement.objects.filter(hold_reason="errors").count() == 2
    assert Release.objects.get(pk=release.pk).turned_because == "errors"


def test_a_ban_can_follow_a_rollback_that_banned_nothing(pair: FleetRows) -> None:
    release = begin()
    advance(release)
    services.roll_back_release(COMMAND, release=release.pk, reason="clients are not ready", ban=False)

    services.roll_back_release(COMMAND, release=release.pk, reason="wrong labels")

    assert {(ban.version.model.name, ban.reason) for ban in Ban.objects.all()} == {
        ("digits", "wrong labels"),
        ("letters", "wrong labels"),
    }
    assert Placement.objects.filter(hold_reason="clients are not ready").count() == 2


def test_a_ban_can_follow_while_a_live_release_goes_back_and_once_it_has(pair: FleetRows) -> None:
    release = released(pair)
    services.roll_back_release(COMMAND, release=release.pk, reason="clients are not ready", ban=False)
    Rollout.objects.filter(kind="rollback", placement__model__name="letters").update(state="succeeded")
    Placement.objects.filter(model__name="letters").update(active=pair.versions["letters", 1])

    services.roll_back_release(COMMAND, release=release.pk, reason="wrong labels")
    with pytest.raises(errors.ReleaseNotLive):
        services.roll_back_release(COMMAND, release=release.pk, reason="again")

    assert {ban.version for ban in Ban.objects.all()} == {pair.versions["digits", 2], pair.versions["letters", 2]}
    assert Rollout.objects.filter(kind="rollback").count() == 2
    assert Release.objects.get(pk=release.pk).turned_because == "wrong labels"


def test_what_differs_from_what_was_there_in_its_number_alone_is_not_offered_to_be_banned(pair: FleetRows) -> None:
    release = gone_back()
    for model in ("digits", "letters"):
        before = pair.versions[model, 1]
        Version.objects.filter(pk=pair.versions[model, 2].pk).update(artifact=before.artifact, config=before.config)

    assert not selectors.is_ban_left_open(selectors.get_release(release.pk))


def test_what_went_live_by_itself_since_a_release_went_back_is_neither_banned_nor_held(pair: FleetRows) -> None:
    release = gone_back()
    Placement.objects.filter(model__name="digits").update(active=pair.versions["digits", 2])

    services.roll_back_release(COMMAND, release=release.pk, reason="errors")

    assert [ban.version.model.name for ban in Ban.objects.all()] == ["letters"]
    assert [one.model.name for one in Placement.objects.filter(hold_reason="errors")] == ["letters"]
