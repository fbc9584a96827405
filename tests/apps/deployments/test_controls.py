"""Pause, resume, approve, retry, freeze windows, and what must have run elsewhere."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from apps.access.services import actor_of, add_user, authenticate, grant_role, issue_token
from apps.audit import selectors as audit
from apps.common.actor import CLOCK, COMMAND, Actor
from apps.common.errors import NotAllowed
from apps.common.transitions import try_move
from apps.deployments import errors, selectors, services
from apps.deployments.models import Rollout
from apps.deployments.states import RunState
from tests.factories.fleets import FleetRows
from tests.factories.histories import live_since


def person(name: str, role: str = "operator") -> Actor:
    user = add_user(COMMAND, username=name, password="a long password")
    grant_role(COMMAND, username=name, role=role)
    return actor_of(user, door="console", address="")


def promoted(actor: Actor = COMMAND, **policy: object) -> Rollout:
    services.change_policy(COMMAND, environment="prod", document=policy)
    return services.promote(actor, environment="prod", model="digits", version=2)


def frozen_today() -> dict[str, object]:
    return {"cron": "0 0 * * *", "duration_s": 86_399, "reason": "release week"}


def advance(rollout: Rollout) -> str:
    services.advance_rollout(rollout.pk, now=timezone.now())
    rollout.refresh_from_db()
    return str(rollout.state)


def test_a_pause_lets_a_run_end_and_begins_no_other(rows: FleetRows) -> None:
    rollout = promoted()
    advance(rollout)
    run = rollout.runs.get(state="running")

    services.pause(COMMAND, rollout=rollout.pk, reason="look first")
    run.refresh_from_db()
    still_wanted = services.is_wanted(run)
    services.end_run(run, state=RunState.SUCCEEDED, now=timezone.now())
    paused = advance(rollout)
    services.resume(COMMAND, rollout=rollout.pk, reason="all good")
    advance(rollout)

    assert still_wanted
    assert paused == "paused"
    assert [one.state for one in rollout.runs.order_by("position")] == ["succeeded", "running"]
    assert [event.verb for event in audit.events(subject=str(rollout.pk))] == ["resume", "pause", "promote"]


def test_nothing_is_resumed_into_a_freeze_window_but_it_can_still_go_back(rows: FleetRows) -> None:
    rollout = promoted()
    advance(rollout)
    services.pause(COMMAND, rollout=rollout.pk, reason="look first")
    services.change_policy(COMMAND, environment="prod", document={"freeze": [frozen_today()]})

    with pytest.raises(errors.PromotionsFrozen, match="release week"):
        services.resume(COMMAND, rollout=rollout.pk, reason="all good")

    assert advance(rollout) == "paused"
    services.abort(COMMAND, rollout=rollout.pk, reason="not this week")
    assert advance(rollout) == "reverting"


def test_a_retry_does_not_let_a_promotion_go_on_in_a_freeze_window(rows: FleetRows) -> None:
    rollout = promoted()
    advance(rollout)
    rollout.runs.filter(state="running").update(state="failed")
    Rollout.objects.update(state="paused", paused_by=CLOCK.name)
    services.change_policy(COMMAND, environment="prod", document={"freeze": [frozen_today()]})

    with pytest.raises(errors.PromotionsFrozen):
        services.retry_run(COMMAND, rollout=rollout.pk, server="prod-1", reason="the disk is back")

    assert rollout.runs.get(position=0).state == "failed"


def test_what_is_not_moving_cannot_be_paused_nor_resumed(rows: FleetRows) -> None:
    done = rows.rollout("digits", "prod", 1, 2)
    moving = promoted()

    with pytest.raises(errors.RolloutNotPausable, match="succeeded"):
        services.pause(COMMAND, rollout=done.pk, reason="why not")
    with pytest.raises(errors.RolloutNotPaused, match="queued"):
        services.resume(COMMAND, rollout=moving.pk, reason="why not")


def test_a_rollback_cannot_be_paused(rows: FleetRows) -> None:
    back = rows.rollout("digits", "prod", 2, 1, kind="rollback", state="running")

    with pytest.raises(errors.RolloutNotPausable, match="is a rollback"):
        services.pause(COMMAND, rollout=back.pk, reason="why not")


def test_each_control_asks_why(rows: FleetRows) -> None:
    rollout = promoted()

    for control in (services.pause, services.resume, services.approve):
        with pytest.raises(errors.ReasonMissing):
            control(COMMAND, rollout=rollout.pk, reason=" ")


def test_who_may_only_look_may_control_nothing(rows: FleetRows) -> None:
    rollout = promoted()

    with pytest.raises(NotAllowed):
        services.pause(person("vera", "viewer"), rollout=rollout.pk, reason="curious")


def test_an_approval_comes_from_somebody_else(rows: FleetRows) -> None:
    alice, bob = person("alice"), person("bob")
    rollout = promoted(alice, approval="another")

    begun = advance(rollout)
    with pytest.raises(errors.ApprovalByAuthor, match="alice"):
        services.approve(alice, rollout=rollout.pk, reason="I trust myself")
    services.approve(bob, rollout=rollout.pk, reason="read the diff")

    assert begun == "unapproved"
    assert advance(rollout) == "running"
    assert (rollout.approved_by, rollout.approved_at is None) == ("bob", False)


def test_a_token_of_the_author_is_the_author(rows: FleetRows) -> None:
    alice = person("alice", "admin")
    _, secret = issue_token(alice, name="ci", scopes=["deploy"], expires_at=None)
    rollout = promoted(alice, approval="another")

    with pytest.raises(errors.ApprovalByAuthor):
        services.approve(authenticate(secret, address=""), rollout=rollout.pk, reason="by machine")


def test_a_token_issued_by_a_token_of_the_author_is_the_author(rows: FleetRows) -> None:
    alice = person("alice", "admin")
    _, first = issue_token(alice, name="ci", scopes=["admin"], expires_at=None)
    _, second = issue_token(authenticate(first, address=""), name="ci-2", scopes=["deploy"], expires_at=None)
    rollout = promoted(alice, approval="another")

    with pytest.raises(errors.ApprovalByAuthor):
        services.approve(authenticate(second, address=""), rollout=rollout.pk, reason="by another machine")


def test_a_token_cannot_approve_through_one_that_it_issued(rows: FleetRows) -> None:
    _, first = issue_token(person("alice", "admin"), name="ci", scopes=["admin"], expires_at=None)
    ci = authenticate(first, address="")
    _, second = issue_token(ci, name="ci-2", scopes=["deploy"], expires_at=None)
    rollout = promoted(ci, approval="another")

    with pytest.raises(errors.ApprovalByAuthor):
        services.approve(authenticate(second, address=""), rollout=rollout.pk, reason="by another machine")


def test_an_approval_does_not_begin_what_was_frozen_meanwhile(rows: FleetRows) -> None:
    rollout = promoted(person("alice"), approval="another")
    services.change_policy(COMMAND, environment="prod", document={"freeze": [frozen_today()]})

    with pytest.raises(errors.PromotionsFrozen, match="release week"):
        services.approve(person("bob"), rollout=rollout.pk, reason="read the diff")

    assert advance(rollout) == "unapproved"


def test_an_approval_does_not_begin_what_was_rolled_back_elsewhere_meanwhile(rows: FleetRows) -> None:
    rows.environment("staging")
    rollout = promoted(person("alice"), approval="another")
    services.change_policy(COMMAND, environment="prod", document={"after": {"environment": "staging"}})

    with pytest.raises(errors.NotProvenElsewhere):
        services.approve(person("bob"), rollout=rollout.pk, reason="read the diff")

    assert advance(rollout) == "unapproved"


def test_who_approves_what_has_ended_is_told_so_first(rows: FleetRows) -> None:
    alice = person("alice")
    rollout = promoted(alice, approval="another")
    services.abort(COMMAND, rollout=rollout.pk, reason="not today")

    with pytest.raises(errors.ApprovalNotNeeded, match="reverting"):
        services.approve(alice, rollout=rollout.pk, reason="too late")


def test_who_comes_second_is_told_what_the_first_has_done(rows: FleetRows) -> None:
    rollout = promoted()
    advance(rollout)
    of_another = Rollout.objects.get(pk=rollout.pk)

    has_paused = try_move(rollout, "paused"), try_move(of_another, "paused")

    assert has_paused == (True, False)
    assert of_another.state == "paused"


def test_what_waits_for_nobody_cannot_be_approved(rows: FleetRows) -> None:
    rollout = promoted(person("alice"))

    with pytest.raises(errors.ApprovalNotNeeded, match="queued"):
        services.approve(person("bob"), rollout=rollout.pk, reason="just in case")


def test_an_unapproved_promotion_can_be_aborted_and_nothing_was_touched(rows: FleetRows) -> None:
    rollout = promoted(person("alice"), approval="another")

    services.abort(COMMAND, rollout=rollout.pk, reason="not today")

    assert advance(rollout) == "rolled_back"


def test_only_a_failed_server_can_be_tried_again(rows: FleetRows) -> None:
    rollout = promoted()
    advance(rollout)

    with pytest.raises(errors.RunNotRetryable, match="running"):
        services.retry_run(COMMAND, rollout=rollout.pk, server="prod-1", reason="impatient")
    with pytest.raises(errors.RunNotRetryable, match="no server nowhere"):
        services.retry_run(COMMAND, rollout=rollout.pk, server="nowhere", reason="a typing error")


def test_only_a_gate_of_the_policy_can_be_skipped(rows: FleetRows) -> None:
    rollout = promoted()

    with pytest.raises(errors.GateUnknown, match="it has: none"):
        services.skip_gate(COMMAND, rollout=rollout.pk, gate="p99", reason="in a hurry")


def test_a_gate_cannot_be_skipped_once_the_rollout_goes_back(rows: FleetRows) -> None:
    gate = {"name": "errors", "signal": "error_ratio", "limit": 0.01}
    rollout = promoted(gates=[gate], final_bake_s=60)
    services.abort(COMMAND, rollout=rollout.pk, reason="not today")

    with pytest.raises(errors.GateTooLate, match="reverting"):
        services.skip_gate(COMMAND, rollout=rollout.pk, gate="errors", reason="too late")

    assert [event.verb for event in audit.events(subject=str(rollout.pk))] == ["abort", "promote"]


@pytest.mark.parametrize("state", ["unapproved", "queued", "running", "paused"])
def test_what_is_moved_away_cannot_be_held_as_if_it_stayed(rows: FleetRows, state: str) -> None:
    rows.rollout("digits", "prod", 1, 2, state=state)

    with pytest.raises(errors.RolloutActive, match=state):
        services.hold(COMMAND, environment="prod", model="digits", reason="keep version 1")

    assert selectors.get_placement("prod", "digits").held_at is None


@pytest.mark.parametrize("kind", ["rollback", "heal"])
def test_what_is_brought_back_can_be_held_meanwhile(rows: FleetRows, kind: str) -> None:
    rows.rollout("digits", "prod", 1, 1, kind=kind, state="running")

    held = services.hold(COMMAND, environment="prod", model="digits", reason="nobody touches it tonight")

    assert held.hold_reason == "nobody touches it tonight"


def test_a_frozen_environment_refuses_promotions_and_says_until_when(rows: FleetRows) -> None:
    now = timezone.now()
    today = {"cron": f"{now.minute} {now.hour} * * *", "duration_s": 3_600, "reason": "the fair"}

    with pytest.raises(errors.PromotionsFrozen, match=r"until .*: the fair") as refused:
        promoted(freeze=[today])

    opens_at = datetime.fromisoformat(refused.value.facts["opens_at"])
    assert timedelta(minutes=58) < opens_at - now <= timedelta(minutes=60)


def test_a_version_must_have_run_well_elsewhere_for_long_enough(rows: FleetRows) -> None:
    rows.environment("staging")
    after = {"environment": "staging", "minutes": 30}
    with pytest.raises(errors.NotProvenElsewhere, match="has not run in staging"):
        promoted(after=after)

    live_since(rows, "digits", "staging", 2, timezone.now() - timedelta(minutes=10))
    with pytest.raises(errors.NotProvenElsewhere, match="for 10 min, 30 are needed"):
        promoted(after=after)

    live_since(rows, "digits", "staging", 2, timezone.now() - timedelta(minutes=31))
    assert promoted(after=after).state == "queued"
