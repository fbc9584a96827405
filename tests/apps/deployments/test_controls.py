"""Pause, resume, approve, retry, freeze windows, and what must have run elsewhere."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from apps.access.services import actor_of, add_user, authenticate, grant_role, issue_token
from apps.audit import selectors as audit
from apps.common.actor import COMMAND, Actor
from apps.common.errors import NotAllowed
from apps.deployments import errors, services
from apps.deployments.models import Rollout
from tests.factories.fleets import FleetRows
from tests.factories.histories import live_since


def person(name: str, role: str = "operator") -> Actor:
    user = add_user(COMMAND, username=name, password="a long password")
    grant_role(COMMAND, username=name, role=role)
    return actor_of(user, door="console", address="")


def promoted(actor: Actor = COMMAND, **policy: object) -> Rollout:
    services.change_policy(COMMAND, environment="prod", document=policy)
    return services.promote(actor, environment="prod", model="digits", version=2)


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
    services.end_run(run, state="succeeded", now=timezone.now())  # type: ignore[arg-type]
    paused = advance(rollout)
    services.resume(COMMAND, rollout=rollout.pk, reason="all good")
    advance(rollout)

    assert still_wanted
    assert paused == "paused"
    assert [one.state for one in rollout.runs.order_by("position")] == ["succeeded", "running"]
    assert [event.verb for event in audit.events(subject=str(rollout.pk))] == ["resume", "pause", "promote"]


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
